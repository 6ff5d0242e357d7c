# find_package(gpp): gpp::gpp, the shared library; gpp::static; gpp::fortran, the shared library with the module for
# Fortran, whose source is compiled with each target that links it.
get_filename_component(_gpp_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(_gpp_prefix "${_gpp_lib}/@UP@" ABSOLUTE)
if(NOT TARGET gpp::gpp)
  add_library(gpp::gpp SHARED IMPORTED)
  set_target_properties(gpp::gpp PROPERTIES
    IMPORTED_LOCATION "${_gpp_lib}/libgpp.so.@VERSION@"
    IMPORTED_SONAME "@SONAME@"
    INTERFACE_INCLUDE_DIRECTORIES "${_gpp_prefix}/include")
  add_library(gpp::static STATIC IMPORTED)
  set_target_properties(gpp::static PROPERTIES
    IMPORTED_LOCATION "${_gpp_lib}/libgpp.a"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m"
    INTERFACE_INCLUDE_DIRECTORIES "${_gpp_prefix}/include")
  add_library(gpp::fortran INTERFACE IMPORTED)
  set_target_properties(gpp::fortran PROPERTIES
    INTERFACE_SOURCES "${_gpp_prefix}/share/gpp-gw/gpp.f90"
    INTERFACE_LINK_LIBRARIES gpp::gpp)
endif()
