/* SPDX-License-Identifier: MIT */
/* git: repositories made to mislead, hang, exhaust or crash the reader. */
#include "git/index.h"
#include "git/private.h"
#include "git/sha1.h"
#include "git_fixture.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

Test(git_sha1, standard_vectors_in_every_split)
{
    static const struct {
        const char *text, *hex;
    } known[] = { { "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
                  { "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
                  { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                    "84983e441c3bd26ebaae4aa1f95129e5e54670f1" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].text);
        for (size_t cut = 0; cut <= n; cut++) {
            struct git_sha1 c;
            struct git_oid o = { { 0 } };
            char hex[SR_GIT_HEX_MAX];
            git_sha1_init(&c);
            git_sha1_update(&c, known[i].text, cut);
            git_sha1_update(&c, known[i].text + cut, n - cut);
            git_sha1_final(&c, o.b);
            git_oid_hex(&o, 20, hex);
            cr_assert_str_eq(hex, known[i].hex);
        }
    }
    struct git_sha1 c;
    struct git_oid o = { { 0 } };
    char hex[SR_GIT_HEX_MAX], as[997];
    memset(as, 'a', sizeof as);
    git_sha1_init(&c);
    for (size_t left = 1000000; left; left -= left < sizeof as ? left : sizeof as)
        git_sha1_update(&c, as, left < sizeof as ? left : sizeof as);
    git_sha1_final(&c, o.b);
    git_oid_hex(&o, 20, hex);
    cr_assert_str_eq(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

enum { HANG_S = 20 };

/*
 * An alarm instead of a hang, around the reading alone: a limit on the whole test would measure git making the repositories, on
 * whatever else the machine is doing.
 */
Test(git_hostile, a24_fifos_and_links_where_files_belong)
{
    static const char *const shapes[] = {
        "rm .git/HEAD; mkfifo .git/HEAD",
        "rm .git/HEAD; ln -s /etc/passwd .git/HEAD",
        "rm .git/HEAD; ln -s /dev/zero .git/HEAD",
        "rm .git/refs/heads/main; mkfifo .git/refs/heads/main",
        "rm .git/refs/heads/main; ln -s /etc/passwd .git/refs/heads/main",
        "mkfifo .git/commondir",
        "rm .git/config; mkfifo .git/config",
        "rm .git/config; ln -s /dev/zero .git/config",
        "rm .git/refs/heads/main; mkfifo .git/packed-refs",
        "rm -r .git/refs/heads; ln -s /etc .git/refs/heads; echo 'ref: refs/heads/passwd' > "
        ".git/HEAD",
        "o=$(git rev-parse HEAD); p=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); rm "
        "-f $p; mkfifo $p",
        "mkfifo .git/objects/info/alternates; git rev-parse HEAD > /dev/null; rm -rf "
        ".git/objects/[0-9a-f][0-9a-f]",
        "truncate -s 1T .git/HEAD",
        "truncate -s 1T .git/config",
        "truncate -s 1T .git/refs/heads/main",
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct fixture f;
        struct sr_error err = { 0 };
        struct sr_git *g = NULL;
        char hex[SR_GIT_HEX_MAX];
        fixture_init(&f, "sha1");
        fixture_history(&f);
        fixture_sh(&f, "tree", shapes[i]);
        alarm(HANG_S);
        int rc = sr_git_open(f.tree, &g, &err);
        if (rc == 0)
            rc = sr_git_resolve(g, "HEAD", hex, &err);
        alarm(0);
        cr_assert_eq(rc, -1, "%s", shapes[i]);
        cr_assert(strncmp(err.code, "git.", 4) == 0, "%s: %s", shapes[i], err.code);
        cr_assert_null(strstr(err.text, "root:"), "%s", err.text);
        sr_git_close(g);
        fixture_remove(&f);
    }
}

Test(git_hostile, an_object_of_another_name_is_not_believed)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    /* The policy's blob replaced by another whole, valid one. */
    fixture_sh(
        &f, "tree",
        "p() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }\n"
        "evil=$(echo evil | git hash-object -w --stdin); good=$(git rev-parse HEAD:sandrun.json)\n"
        "cp -f $(p $evil) $(p $good)");
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX];
    cleanup_buf struct sr_buf b = SR_BUF(100);
    cleanup_git struct sr_git *g = fixture_open(&f, "tree");
    cr_assert_eq(sr_git_resolve(g, "HEAD", hex, &err), 0, "%s", err.text);
    cr_assert_eq(sr_git_blob(g, hex, "sandrun.json", 100, &b, &err), -1);
    cr_assert_str_eq(err.code, "git.corrupt");
    cr_assert_null(b.data);
    cr_assert_null(strstr(err.text, "evil"));
    fixture_remove(&f);
}

/* A loose object that says it is huge, and one that is: neither is taken whole. */
Test(git_hostile, bombs_are_refused_before_they_are_big, .timeout = 20)
{
    static const char *const heads[] = { "blob 99999999999999", "blob 18446744073709551616",
                                         "blob 010", "blob ", "bolb 1" };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct fixture f;
        unsigned char z[256];
        char path[256];
        uLongf n = sizeof z;
        fixture_init(&f, "sha1");
        fixture_sh(&f, "tree", "mkdir .git/objects/11");
        cr_assert_eq(compress(z, &n, (const unsigned char *)heads[i], strlen(heads[i]) + 1), Z_OK);
        snprintf(path, sizeof path, "%s/.git/objects/11/11111111111111111111111111111111111111",
                 f.tree);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        cr_assert(fd >= 0 && write(fd, z, n) == (ssize_t)n);
        close(fd);
        assert_fails(&f, "tree", "1111111111111111111111111111111111111111",
                     i ? "git.corrupt" : "git.too_large");
        fixture_remove(&f);
    }
}

Test(git_hostile, deltas_that_lie)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *code;
    } bad[] = { { "\x05", 1, "git.corrupt" },
                { "\x05\x03", 2, "git.corrupt" },
                { "\x04\x03\x03xyz", 6, "git.corrupt" },
                { "\x05\x03\x00", 3, "git.corrupt" },
                { "\x05\x03\x04wxyz", 7, "git.corrupt" },
                { "\x05\x03\x03xy", 5, "git.corrupt" },
                { "\x05\x03\x91\x04\x03", 5, "git.corrupt" },
                { "\x05\x03\x91\x06", 4, "git.corrupt" },
                { "\x05\x03\xff\xff", 4, "git.corrupt" },
                { "\x05\x03\x80", 3, "git.corrupt" },
                { "\x05\xff\xff\xff\xff\xff\xff\xff\x7f", 9, "git.too_large" },
                { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "git.corrupt" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sr_error err = { 0 };
        char *out = NULL;
        size_t n = 0;
        cleanup_free unsigned char *copy =
            sr_malloc(bad[i].len); /* exactly as long: ASan sees a byte too far */
        memcpy(copy, bad[i].bytes, bad[i].len);
        cr_assert_eq(git_delta_apply((const unsigned char *)"hello", 5, copy, bad[i].len, 1 << 20,
                                     &out, &n, &err),
                     -1, "%zu", i);
        cr_assert_str_eq(err.code, bad[i].code, "%zu: %s", i, err.text);
        cr_assert_null(out);
    }
    struct sr_error err = { 0 };
    char *out = NULL;
    size_t n = 0;
    cr_assert_eq(git_delta_apply((const unsigned char *)"hello", 5,
                                 (const unsigned char *)"\x05\x06\x91\x01\x04\x02!?", 8, 100, &out,
                                 &n, &err),
                 0);
    cr_assert_str_eq(out, "ello!?");
    free(out);
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* One change to the file at path: a byte, a run of bytes, a cut, or something behind the end. */
static void mutate(const char *path, const char *data, size_t len, uint32_t *seed)
{
    cleanup_free char *copy = sr_malloc(len + 64);
    memcpy(copy, data, len);
    size_t at = random_next(seed) % len, n = len;
    switch (random_next(seed) % 5) {
    case 0:
        copy[at] ^= (char)(1u << random_next(seed) % 8);
        break;
    case 1:
        for (size_t i = at; i < len && i < at + 8; i++)
            copy[i] = (char)random_next(seed);
        break;
    case 2:
        n = at;
        break;
    case 3:
        memset(copy + at, 0xff, len - at < 4 ? len - at : 4);
        break;
    default: /* the heads of files are where the numbers are */
        copy[at % 64 % len] = (char)random_next(seed);
        break;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, copy, n) == (ssize_t)n);
    close(fd);
}

static char *slurp(const char *path, size_t *len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    char *data = sr_malloc((size_t)st.st_size);
    cr_assert_eq(read(fd, data, (size_t)st.st_size), st.st_size);
    close(fd);
    *len = (size_t)st.st_size;
    return data;
}

/* All questions; each answer is the right one or an error of ours. Returns how many were errors. */
static unsigned ask_all(const struct fixture *f, const char *head, const char *big)
{
    struct sr_error err = { 0 };
    cleanup_git struct sr_git *g = NULL;
    char hex[SR_GIT_HEX_MAX];
    unsigned errors = 0;
    if (sr_git_open(f->tree, &g, &err) < 0) {
        cr_assert(strncmp(err.code, "git.", 4) == 0, "%s", err.code);
        return 1;
    }
    if (sr_git_resolve(g, "HEAD", hex, &err) == 0) {
        cr_assert_str_eq(hex, head);
    } else {
        errors++;
        cr_assert(strncmp(err.code, "git.", 4) == 0, "%s", err.code);
    }
    struct sr_error blob_err = { 0 }, index_err = { 0 }, brief_err = { 0 };
    cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
    if (sr_git_blob(g, head, "big", 1 << 20, &b, &blob_err) == 0)
        cr_assert_str_eq(b.data, big);
    else
        errors++;
    char brief[8];
    snprintf(brief, sizeof brief, "%.7s", head);
    if (sr_git_resolve(g, brief, hex, &brief_err) == 0)
        cr_assert_str_eq(hex, head);
    else
        errors++;
    bool yes;
    errors += sr_git_tracked(g, "src/deep/file", &yes, &index_err) < 0;
    return errors;
}

static void mutate_one(const struct fixture *f, const char *file, unsigned rounds)
{
    char path[512];
    size_t len;
    cleanup_free char *head = fixture_out(f, "tree", "git rev-parse HEAD");
    cleanup_free char *shown = fixture_out(f, "tree", "git cat-file blob HEAD:big");
    cleanup_free char *big = sr_asprintf("%s\n", shown);
    cleanup_free char *name = fixture_out(f, "tree", file);
    snprintf(path, sizeof path, "%s/%s", f->tree, name);
    cr_assert_eq(chmod(path, 0600), 0, "%s", path);
    cleanup_free char *data = slurp(path, &len);
    cr_assert_eq(ask_all(f, head, big), 0);
    uint32_t seed = 7;
    unsigned errors = 0;
    for (unsigned i = 0; i < rounds; i++) {
        mutate(path, data, len, &seed);
        errors += ask_all(f, head, big) > 0;
    }
    cr_assert_gt(errors, rounds / 10, "%s: %u of %u", name, errors, rounds);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    cr_assert(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    close(fd);
    cr_assert_eq(ask_all(f, head, big), 0);
}

Test(git_hostile, mutations_of_loose_files, .timeout = 120)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    mutate_one(
        &f,
        "o=$(git rev-parse HEAD); echo .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)",
        150);
    mutate_one(&f,
               "o=$(git rev-parse HEAD^{tree}); echo .git/objects/$(echo $o | cut -c1-2)/$(echo $o "
               "| cut -c3-)",
               150);
    mutate_one(&f,
               "o=$(git rev-parse HEAD:big); echo .git/objects/$(echo $o | cut -c1-2)/$(echo $o | "
               "cut -c3-)",
               150);
    mutate_one(&f, "echo .git/HEAD", 100);
    mutate_one(&f, "echo .git/config", 100);
    fixture_remove(&f);
}

Test(git_hostile, mutations_of_packs_and_their_indexes, .timeout = 120)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree", "git gc -q --aggressive --prune=now");
    mutate_one(&f, "ls .git/objects/pack/*.idx", 250);
    mutate_one(&f, "ls .git/objects/pack/*.pack", 250);
    mutate_one(&f, "echo .git/packed-refs", 100);
    fixture_remove(&f);
}

Test(git_hostile, mutations_of_the_index, .timeout = 120)
{
    static const char *const versions[] = { "git update-index --index-version 2",
                                            "git update-index --index-version 4" };
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f, "sha256");
        fixture_history(&f);
        fixture_sh(&f, "tree", versions[i]);
        mutate_one(&f, "echo .git/index", 250);
        fixture_remove(&f);
    }
}

static void put(const char *dir, const char *name, const void *data, size_t len)
{
    char path[256];
    snprintf(path, sizeof path, "%s/.git/objects/pack/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    close(fd);
}

/* A pack of one delta whose base is itself. */
Test(git_hostile, a_delta_on_itself_ends, .timeout = 20)
{
    struct fixture f;
    unsigned char pack[128] = "PACK\0\0\0\2\0\0\0\1\x73",
                  idx[8 + 1024 + 28 + 40] = "\377tOc\0\0\0\2";
    uLongf n = 64;
    fixture_init(&f, "sha1");
    memset(pack + 13, 0x22, 20);
    cr_assert_eq(compress(pack + 33, &n, (const unsigned char *)"\3\3x", 3), Z_OK);
    for (int i = 0x22; i < 256; i++)
        idx[8 + 4 * i + 3] = 1;
    memset(idx + 1032, 0x22, 20);
    idx[1032 + 24 + 3] = 12;
    put(f.tree, "pack-1.idx", idx, sizeof idx);
    put(f.tree, "pack-1.pack", pack, 33 + n + 20);
    assert_fails(&f, "tree", "2222222222222222222222222222222222222222", "git.corrupt");
    assert_fails(&f, "tree", "2222", "git.corrupt");
    /* The same without its pack: as if it were not there. */
    fixture_sh(&f, "tree", "rm .git/objects/pack/pack-1.pack");
    assert_fails(&f, "tree", "2222222222222222222222222222222222222222", "git.object_missing");
    fixture_remove(&f);
}

Test(git_hostile, work_for_one_question_is_bounded)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    for (int packed = 0; packed < 2; packed++) {
        struct sr_error err = { 0 };
        struct git_oid oid;
        cleanup_object struct git_object o = { 0 };
        cleanup_free char *hex = fixture_out(&f, "tree", "git rev-parse HEAD:big");
        cleanup_git struct sr_git *g = fixture_open(&f, "tree");
        cr_assert(git_oid_parse(hex, 20, &oid));
        g->work = GIT_WORK_MAX - 5000;
        cr_assert_eq(git_object_read(g, &oid, GIT_BLOB, 1 << 20, &o, &err), -1);
        cr_assert_str_eq(err.code, "git.too_large", "%s", err.text);
        fixture_sh(&f, "tree", "git gc -q --aggressive --prune=now");
    }
    fixture_remove(&f);
}

/* A repository that names other directories of the host as its own: nothing of them comes out. */
Test(git_hostile, pointers_to_other_places_say_nothing_of_them)
{
    static const char *const shapes[] = {
        "echo $PWD/../secret > .git/objects/info/alternates",
        "echo ../../secret > .git/commondir",
        ("mkdir .git/x; cp .git/HEAD .git/x; echo ../../../secret > .git/x/commondir; mv .git dot; "
         "echo gitdir: dot/x > .git"),
        "rm -rf .git/objects; ln -s ../../secret .git/objects",
        "rm -rf .git/refs; ln -s ../../secret .git/refs",
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct fixture f;
        struct sr_error err = { 0 };
        struct sr_git *g = NULL;
        char hex[SR_GIT_HEX_MAX];
        fixture_init(&f, "sha1");
        fixture_history(&f);
        /* Files named like a store's, with content that is none. */
        fixture_sh(&f, ".",
                   "mkdir -p secret/refs/heads secret/objects/pack secret/heads secret/pack "
                   "secret/11; echo top-secret | tee secret/HEAD\n"
                   "for n in refs/heads/main heads/main packed-refs config pack/pack-1.idx "
                   "objects/pack/pack-1.idx\n"
                   "do echo top-secret > secret/$n; done; echo top-secret > "
                   "secret/11/11111111111111111111111111111111111111");
        fixture_sh(&f, "tree", shapes[i]);
        int rc = sr_git_open(f.tree, &g, &err);
        if (rc == 0)
            rc = sr_git_resolve(g, "1111111111111111111111111111111111111111", hex, &err);
        cr_assert_eq(rc, -1, "%s", shapes[i]);
        cr_assert_null(strstr(err.text, "top-secret"), "%s: %s", shapes[i], err.text);
        sr_error_clear(&err);
        if (g && sr_git_resolve(g, "main", hex, &err) < 0)
            cr_assert_null(strstr(err.text, "top-secret"), "%s: %s", shapes[i], err.text);
        sr_git_close(g);
        fixture_remove(&f);
    }
}
