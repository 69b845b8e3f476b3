/* SPDX-License-Identifier: MIT */
/* Node's optional packages, one per platform: is the one for this machine and libc among those
 * installed? */
#include "plan/preflight.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/*
 * "rollup-linux-x64-gnu", "@esbuild/linux-x64", "@img/sharp-linuxmusl-arm64": what stands before
 * the system's name is the family. npm installs the members that fit the machine it runs on,
 * sometimes more; a family of which none fits was installed elsewhere. The package that needs it
 * then advises removing node_modules and the lock file.
 */

enum { FAMILY_MEMBERS_MAX = 512 };

static const char *const systems[] = { "linux-",  "linuxmusl-", "android-",
                                       "darwin-", "win32-",     "freebsd-" };

/* Node's names of machines. */
static const struct {
    const char *name;
    uint16_t machine; /* 0: none that this program runs on */
} arches[] = {
    { "x64", EM_X86_64 }, { "64", EM_X86_64 }, { "arm64", EM_AARCH64 }, { "ia32", EM_386 },
    { "32", EM_386 },     { "arm", EM_ARM },   { "riscv64", EM_RISCV }, { "ppc64", EM_PPC64 },
    { "s390x", EM_S390 }, { "loong64", 258 },  { "universal", 0 },      { "mips64el", EM_MIPS },
};

struct platform {
    const char *name;
    size_t family; /* length of the part before the system */
    bool linux_;
    uint16_t machine;
    enum elf_libc libc; /* UNKNOWN: any */
};

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static bool parse_arch(const char *at, struct platform *ret)
{
    size_t n = strcspn(at, "-");
    for (size_t i = 0; i < sizeof arches / sizeof *arches; i++)
        if (strlen(arches[i].name) == n && memcmp(arches[i].name, at, n) == 0) {
            ret->machine = arches[i].machine;
            return true;
        }
    return false;
}

static bool parse(const char *name, struct platform *ret)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const char *at = strstr(name, systems[i]);
        if (!at || (at != name && at[-1] != '-') || !parse_arch(at + strlen(systems[i]), ret))
            continue;
        bool musl = i == 1 || ends_with(name, "-musl");
        ret->name = name;
        ret->family = (size_t)(at - name);
        ret->linux_ = i <= 1;
        ret->libc = musl                      ? ELF_LIBC_MUSL
                    : ends_with(name, "-gnu") ? ELF_LIBC_GLIBC
                                              : ELF_LIBC_UNKNOWN;
        return true;
    }
    return false;
}

static bool same_family(const struct platform *a, const struct platform *b)
{
    return a->family == b->family && memcmp(a->name, b->name, a->family) == 0;
}

static void add(struct preflight *pf, const char *scope, const struct platform *p, bool libc)
{
    char *path = sr_asprintf("node_modules/%s%s%s", scope ? scope : "", scope ? "/" : "", p->name);
    char *found = sr_asprintf("linux %s with %s (this root filesystem)",
                              elf_machine_name(pf->machine), elf_libc_name(preflight_libc(pf)));
    preflight_add(pf,
                  (struct sr_finding){
                      .code = libc ? "env.mismatch.libc" : "env.mismatch.arch",
                      .path = path,
                      .expected = sr_asprintf("the platform in its name, %s", p->name + p->family),
                      .found = found,
                      .text = sr_asprintf("node_modules was installed for another platform: %s is "
                                          "there, and none of its family for %s",
                                          path, found),
                      .remedy = sr_strdup("install node_modules again in the root filesystem that "
                                          "the check has (npm ci), or pin the image it was "
                                          "installed in; the lock file is not at fault"),
                  });
}

static void judge_family(struct preflight *pf, const char *scope, const struct platform *p,
                         size_t i, size_t n)
{
    const struct platform *nearest = NULL;
    for (size_t k = 0; k < n; k++) {
        if (!same_family(&p[k], &p[i]))
            continue;
        if (k < i)
            return; /* judged with its first member */
        bool fits = p[k].linux_ && p[k].machine == pf->machine;
        if (fits)
            nearest = &p[k];
        if (fits && (p[k].libc == ELF_LIBC_UNKNOWN || preflight_libc(pf) == ELF_LIBC_UNKNOWN ||
                     p[k].libc == preflight_libc(pf)))
            return;
    }
    add(pf, scope, nearest ? nearest : &p[i], nearest != NULL);
}

void preflight_platforms(struct preflight *pf, const char *scope, const struct sr_strv *names)
{
    cleanup_free struct platform *p = sr_calloc(FAMILY_MEMBERS_MAX, sizeof *p);
    size_t n = 0;
    if (!pf->machine)
        return;
    for (size_t i = 0; i < names->n && n < FAMILY_MEMBERS_MAX; i++)
        n += parse(names->v[i], &p[n]);
    for (size_t i = 0; i < n; i++)
        judge_family(pf, scope, p, i, n);
}
