/* SPDX-License-Identifier: MIT */
/* The host paths a check sees: one table for the engine, the fingerprint and preflight. */
#include "base/fs.h"
#include "image/host.h"

/*
 * What a toolchain needs to start, and nothing that says who uses this machine. Of /etc single
 * entries, never the whole: left out are what the engine makes anew (passwd, group, hosts,
 * hostname, resolv.conf), and all that can hold a secret or steer a tool from outside the tree
 * (shadow, sudoers, ssh, ssl/private, pki/tls/private, gitconfig, npmrc, pip.conf, machine-id,
 * environment, profile), and what only an administrator's tool or an interactive program reads
 * (ld.so.conf, ca-certificates.conf, inputrc). Each entry costs a run some microseconds. Names without a file are skipped by the engine, so every distribution's
 * are here.
 *
 * The order is the order of mounting: a parent before what lies below it.
 */
/* clang-format off */
#define TREE(p) { p, SR_HOST_TREE }
#define ETC(p)  { "/etc/" p, SR_HOST_ETC }
/* clang-format on */

const struct sr_host_path sr_host_paths[] = {
    TREE("/usr"),
    TREE("/bin"),
    TREE("/sbin"),
    TREE("/lib"),
    TREE("/lib32"),
    TREE("/lib64"),
    TREE("/libx32"),
    { "/usr/local", SR_HOST_OPT }, /* over the same directory of /usr */
    { "/opt", SR_HOST_OPT },
    TREE("/nix/store"),
    TREE("/gnu/store"),
    TREE("/var/lib/ca-certificates"), /* SUSE: where /etc/ssl/certs leads */

    /* the loader, the C library */
    ETC("ld.so.cache"),
    ETC("ld-musl-x86_64.path"),
    ETC("ld-musl-aarch64.path"),
    ETC("nsswitch.conf"),
    ETC("host.conf"),
    ETC("gai.conf"),
    ETC("protocols"),
    ETC("services"),
    ETC("localtime"),
    ETC("timezone"),
    ETC("locale.alias"),
    ETC("locale.conf"),

    /* which program a name stands for */
    ETC("alternatives"),

    /* which distribution this is */
    ETC("os-release"),
    ETC("debian_version"),
    ETC("lsb-release"),
    ETC("alpine-release"),
    ETC("arch-release"),
    ETC("fedora-release"),
    ETC("redhat-release"),
    ETC("system-release"),
    ETC("gentoo-release"),
    ETC("SuSE-release"),

    /* certificates of others, never keys */
    ETC("ssl/certs"),
    ETC("ssl/cert.pem"),
    ETC("ssl/ca-bundle.pem"),
    ETC("ssl/openssl.cnf"),
    ETC("pki/ca-trust"),
    ETC("pki/tls/certs"),
    ETC("pki/tls/cert.pem"),
    ETC("pki/tls/openssl.cnf"),
    ETC("pki/java"),
    ETC("crypto-policies"),
    ETC("gnutls/config"),

    /* terminals, types, fonts, pictures */
    ETC("magic"),
    ETC("magic.mime"),
    ETC("mime.types"),
    ETC("fonts"),
    ETC("ImageMagick-6"),
    ETC("ImageMagick-7"),
    ETC("ghostscript"),
    ETC("texmf"),
    ETC("sgml"),
    ETC("xml"),

    /* languages and their builders */
    ETC("python3"),
    ETC("python3.6"),
    ETC("python3.7"),
    ETC("python3.8"),
    ETC("python3.9"),
    ETC("python3.10"),
    ETC("python3.11"),
    ETC("python3.12"),
    ETC("python3.13"),
    ETC("python3.14"),
    ETC("python3.15"),
    ETC("python2.7"),
    ETC("java"),
    ETC("java-8-openjdk"),
    ETC("java-11-openjdk"),
    ETC("java-17-openjdk"),
    ETC("java-21-openjdk"),
    ETC("java-25-openjdk"),
    ETC("jvm"),
    ETC("jvm-common"),
    ETC("maven"),
    ETC("gradle"),
    ETC("ant.conf"),
    ETC("ant.d"),
    ETC("scala"),
    ETC("perl"),
    ETC("php"),
    ETC("php.ini"),
    ETC("php.d"),
    ETC("php81"),
    ETC("php82"),
    ETC("php83"),
    ETC("php84"),
    ETC("R"),
    ETC("julia"),
    ETC("mono"),
    ETC("dotnet"),
    ETC("ghc"),
    ETC("lua"),
    ETC("guile"),
    ETC("gnucobol"),
    ETC("fpc.cfg"),
};
const size_t sr_host_paths_n = sizeof sr_host_paths / sizeof *sr_host_paths;

const struct host_view host_view_real = { sr_host_paths,
                                          sizeof sr_host_paths / sizeof *sr_host_paths };

bool host_view_visible(const struct host_view *v, const char *path)
{
    for (size_t i = 0; i < v->n; i++)
        if (sr_path_below(path, v->paths[i].path))
            return true;
    return false;
}

bool host_view_passable(const struct host_view *v, const char *path)
{
    for (size_t i = 0; i < v->n; i++)
        if (sr_path_below(v->paths[i].path, path))
            return true;
    return host_view_visible(v, path);
}

int sr_host_path_visible(const char *path)
{
    return host_view_visible(&host_view_real, path);
}
