/* SPDX-License-Identifier: MIT */
/* Names that lead to a repository's own directory. */
#include "sandrun/git.h"

#include <ctype.h>
#include <string.h>

/*
 * Whether some filesystem takes name for want (lower case). Case is folded; bytes beyond ASCII are skipped, since HFS+ and the
 * folding of ext4, f2fs and tmpfs leave out code points that cannot be seen, and each has a list of its own; NTFS drops dots and
 * blanks at the end, and takes what follows a colon for a stream of the file.
 */
static bool taken_for(const char *name, size_t len, const char *want)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c >= 0x80)
            continue;
        if (*want == '\0' && c == ':')
            return true;
        if (*want == '\0' && (c == '.' || c == ' '))
            continue;
        if (tolower(c) != *want++)
            return false;
    }
    return *want == '\0';
}

/* "git~1" is the short name that FAT and NTFS give to ".git". */
static bool is_dotgit(const char *name, size_t len)
{
    return taken_for(name, len, ".git") || taken_for(name, len, "git~1");
}

const char *sr_git_below(const char *path)
{
    for (const char *p = path; p;) {
        size_t len = strcspn(p, "/");
        if (is_dotgit(p, len))
            return p[len] ? p + len + 1 : p + len;
        p = p[len] ? p + len + 1 : NULL;
    }
    return NULL;
}
