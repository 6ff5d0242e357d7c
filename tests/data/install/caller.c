#include <gpp.h>
int main(void) {
    gpp_handle *handle;
    int status = gpp_open("cpu", &handle);
    gpp_close(handle);
    return status;
}
