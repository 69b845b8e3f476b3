/* SPDX-License-Identifier: MIT */
/* ELF headers of untrusted files, read within bounds: machine, loader, libc. */
#include "plan/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Above these a file is no ordinary program or library, and is not looked at further. */
enum { PHDRS_MAX = 64, DYNAMIC_MAX = 512, NEEDED_MAX = 64, NAME_MAX_LEN = 64 };

struct source {
    int fd; /* -1: data */
    const unsigned char *data;
    size_t size;
};

/* What one file is made of; everything is in the file's byte order until get() reads it. */
struct file {
    struct source src;
    bool wide, swap;
    unsigned n_phdrs;
    struct segment {
        uint32_t type;
        uint64_t offset, vaddr, size;
    } segments[PHDRS_MAX];
};

static bool read_at(const struct source *s, uint64_t offset, void *buf, size_t len)
{
    if (s->fd < 0) {
        if (offset > s->size || len > s->size - offset)
            return false;
        memcpy(buf, s->data + offset, len);
        return true;
    }
    if (offset > INT64_MAX - len)
        return false;
    ssize_t n;
    do
        n = pread(s->fd, buf, len, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n >= 0 && (size_t)n == len;
}

/* An unsigned number of len bytes at p, in the file's byte order. */
static uint64_t get(const struct file *f, const unsigned char *p, size_t len)
{
    bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != f->swap;
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++)
        v = v << 8 | p[big ? i : len - 1 - i];
    return v;
}

#define FIELD(f, raw, type32, type64, name)                                                        \
    ((f)->wide ? get((f), (raw) + offsetof(type64, name), sizeof(((type64 *)0)->name))             \
               : get((f), (raw) + offsetof(type32, name), sizeof(((type32 *)0)->name)))
#define EHDR(f, raw, name) FIELD(f, raw, Elf32_Ehdr, Elf64_Ehdr, name)
#define PHDR(f, raw, name) FIELD(f, raw, Elf32_Phdr, Elf64_Phdr, name)
#define DYN(f, raw, name)  FIELD(f, raw, Elf32_Dyn, Elf64_Dyn, name)

static int read_phdrs(struct file *f, uint64_t offset, uint64_t entry, uint64_t n)
{
    size_t size = f->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    if (n > PHDRS_MAX || (n && entry != size))
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        unsigned char raw[sizeof(Elf64_Phdr)];
        if (offset > UINT64_MAX - i * size || !read_at(&f->src, offset + i * size, raw, size))
            return -1;
        f->segments[f->n_phdrs++] = (struct segment){
            .type = (uint32_t)PHDR(f, raw, p_type),
            .offset = PHDR(f, raw, p_offset),
            .vaddr = PHDR(f, raw, p_vaddr),
            .size = PHDR(f, raw, p_filesz),
        };
    }
    return 0;
}

static int read_header(struct file *f, struct elf_info *info)
{
    unsigned char raw[sizeof(Elf64_Ehdr)];
    if (!read_at(&f->src, 0, raw, sizeof(Elf32_Ehdr)) || memcmp(raw, ELFMAG, SELFMAG) != 0)
        return -1;
    if (raw[EI_CLASS] != ELFCLASS32 && raw[EI_CLASS] != ELFCLASS64)
        return -1;
    if (raw[EI_DATA] != ELFDATA2LSB && raw[EI_DATA] != ELFDATA2MSB)
        return -1;
    f->wide = raw[EI_CLASS] == ELFCLASS64;
    f->swap = (raw[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    if (f->wide && !read_at(&f->src, 0, raw, sizeof(Elf64_Ehdr)))
        return -1;
    info->machine = (uint16_t)EHDR(f, raw, e_machine);
    return read_phdrs(f, EHDR(f, raw, e_phoff), EHDR(f, raw, e_phentsize), EHDR(f, raw, e_phnum));
}

/* Where the virtual address stands in the file; false when no segment has it. */
static bool file_offset(const struct file *f, uint64_t vaddr, uint64_t *ret)
{
    for (unsigned i = 0; i < f->n_phdrs; i++) {
        const struct segment *s = &f->segments[i];
        if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
            return !__builtin_add_overflow(s->offset, vaddr - s->vaddr, ret);
    }
    return false;
}

static enum elf_libc libc_of(const char *name)
{
    if (strstr(name, "ld-musl-") || strncmp(name, "libc.musl-", 10) == 0)
        return ELF_LIBC_MUSL;
    if (strncmp(name, "libc.so.6", 9) == 0 || strstr(name, "ld-linux"))
        return ELF_LIBC_GLIBC;
    return ELF_LIBC_UNKNOWN;
}

/* A name may stand at the very end of the file: then it is read byte by byte. */
static void read_name(const struct file *f, uint64_t offset, char name[NAME_MAX_LEN])
{
    size_t n = 0;
    name[NAME_MAX_LEN - 1] = '\0';
    if (read_at(&f->src, offset, name, NAME_MAX_LEN - 1))
        return;
    for (; n < NAME_MAX_LEN - 1; n++)
        if (offset > UINT64_MAX - n || !read_at(&f->src, offset + n, name + n, 1) || !name[n])
            break;
    name[n] = '\0';
}

static void read_needed(const struct file *f, const struct segment *dynamic, struct elf_info *info)
{
    size_t size = f->wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn), n_needed = 0;
    uint64_t needed[NEEDED_MAX], strings = 0;
    for (size_t i = 0; i < DYNAMIC_MAX && (i + 1) * size <= dynamic->size; i++) {
        unsigned char raw[sizeof(Elf64_Dyn)];
        if (dynamic->offset > UINT64_MAX - i * size ||
            !read_at(&f->src, dynamic->offset + i * size, raw, size))
            return;
        uint64_t tag = DYN(f, raw, d_tag), value = DYN(f, raw, d_un);
        if (tag == DT_NULL)
            break;
        if (tag == DT_STRTAB)
            strings = value;
        if (tag == DT_NEEDED && n_needed < NEEDED_MAX)
            needed[n_needed++] = value;
    }
    for (size_t i = 0; i < n_needed && info->libc == ELF_LIBC_UNKNOWN; i++) {
        uint64_t at;
        char name[NAME_MAX_LEN];
        if (__builtin_add_overflow(strings, needed[i], &at) || !file_offset(f, at, &at))
            continue;
        read_name(f, at, name);
        info->libc = libc_of(name);
    }
}

static int read_file(struct file *f, struct elf_info *ret)
{
    struct elf_info info = { 0 };
    if (read_header(f, &info) < 0)
        return -1;
    const struct segment *dynamic = NULL;
    for (unsigned i = 0; i < f->n_phdrs; i++) {
        const struct segment *s = &f->segments[i];
        if (s->type == PT_DYNAMIC)
            dynamic = s;
        if (s->type == PT_INTERP && (s->size >= sizeof info.interp ||
                                     !read_at(&f->src, s->offset, info.interp, (size_t)s->size)))
            return -1;
    }
    info.libc = libc_of(info.interp);
    if (dynamic && info.libc == ELF_LIBC_UNKNOWN)
        read_needed(f, dynamic, &info);
    *ret = info;
    return 0;
}

int elf_read_fd(int fd, struct elf_info *ret)
{
    struct file f = { .src = { .fd = fd } };
    return read_file(&f, ret);
}

int elf_read_bytes(const void *data, size_t size, struct elf_info *ret)
{
    struct file f = { .src = { .fd = -1, .data = data, .size = size } };
    return read_file(&f, ret);
}

/* ---- names ---- */

static const struct machine {
    const char *name; /* as uname has it; the first of several is the one printed */
    uint16_t machine;
} machines[] = {
    { "x86_64", EM_X86_64 }, { "aarch64", EM_AARCH64 }, { "arm64", EM_AARCH64 },
    { "i686", EM_386 },      { "i586", EM_386 },        { "i386", EM_386 },
    { "armv7l", EM_ARM },    { "armv6l", EM_ARM },      { "armv8l", EM_ARM },
    { "riscv64", EM_RISCV }, { "ppc64le", EM_PPC64 },   { "ppc64", EM_PPC64 },
    { "s390x", EM_S390 },    { "loongarch64", 258 },    { "mips64", EM_MIPS },
    { "mips", EM_MIPS },
};

const char *elf_machine_name(uint16_t machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            return machines[i].name;
    return "a machine not known here";
}

uint16_t elf_machine_from(const char *uname_machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (strcmp(machines[i].name, uname_machine) == 0)
            return machines[i].machine;
    return 0;
}

const char *elf_libc_name(enum elf_libc libc)
{
    static const char *const names[] = { "an unknown libc", "glibc", "musl" };
    return names[libc];
}
