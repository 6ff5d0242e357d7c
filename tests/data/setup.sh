#!/bin/sh
cd "$BIN" || exit
echo "${0##*/} $*" >>log
core=usr/lib/rustlib/src/rust/library/core/src
rust() { mkdir -p $core && : >$core/lib.rs && ln -sf stub cargo && ln -sf stub rustc; }
case "${0##*/} $*" in
    "id -u") echo 0 ;;
    "rustc --print sysroot") echo "$BIN/usr" ;;
    "rustc -vV") [ -d old ] && echo release: 1.84.1 || echo release: 1.100.0 ;;
    apt-get*" rustup") [ -d ubuntu ] && ln -s stub rustup ;;
    apt-get*-web*) [ ! -d ubuntu ] && rust ;;
    rustup*) rm -rf old; rust ;;
    dnf*" rust cargo rust-src") rust ;;
esac || exit 100
case "$*" in *" gcc"*) ln -sf stub cc ;; esac
