/* SPDX-License-Identifier: MIT */
/* What an ELF file needs of the system it runs on: machine, loader, libc. */
#ifndef SR_PLAN_ELF_H
#define SR_PLAN_ELF_H

#include <stddef.h>
#include <stdint.h>

enum elf_libc { ELF_LIBC_UNKNOWN, ELF_LIBC_GLIBC, ELF_LIBC_MUSL };

struct elf_info {
    uint16_t machine;   /* EM_* */
    char interp[256];   /* PT_INTERP, "" without one */
    enum elf_libc libc; /* by the loader, else by the names of DT_NEEDED */
};

/* 0, or -1 for what is no ELF file, or a damaged one. At most a few KiB are read, wherever the
 * headers point. */
int elf_read_fd(int fd, struct elf_info *ret);
int elf_read_bytes(const void *data, size_t size, struct elf_info *ret);

/* "x86_64": uname's spelling. */
const char *elf_machine_name(uint16_t machine);
/* EM_* of uname's machine, 0 when it is not known. */
uint16_t elf_machine_from(const char *uname_machine);
const char *elf_libc_name(enum elf_libc libc);

#endif
