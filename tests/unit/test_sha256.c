/* SPDX-License-Identifier: MIT */
/* SHA-256: the standard's vectors, every split, and the CPU's code held against the portable one.
 */
#include "base/mem.h"
#include "base/sha256.h"
#include "base/sha256_hw.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *in, *hex;
} vectors[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
      "pqrs"
      "mnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

Test(sha256, known_vectors)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        unsigned char d[SR_SHA256_SIZE];
        char text[SR_DIGEST_TEXT];
        sr_sha256_bytes(vectors[i].in, strlen(vectors[i].in), d);
        sr_sha256_text(d, text);
        cr_assert_eq(strncmp(text, "sha256:", 7), 0);
        cr_assert_str_eq(text + 7, vectors[i].hex);
    }
}

Test(sha256, a_million_times_a)
{
    struct sr_sha256 c;
    unsigned char d[SR_SHA256_SIZE], a[1000];
    char hex[SR_SHA256_HEX];
    memset(a, 'a', sizeof a);
    sr_sha256_init(&c);
    for (unsigned i = 0; i < 1000; i++)
        sr_sha256_update(&c, a, sizeof a);
    sr_sha256_final(&c, d);
    sr_sha256_hex(d, hex);
    cr_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void noise_fill(unsigned char *p, size_t n)
{
    uint32_t x = 0x12345678;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = (unsigned char)(x >> 24);
    }
}

/* The whole digest by the portable transform alone, padded here and not by the code under test. */
static void digest_portable(const unsigned char *p, size_t len, unsigned char out[SR_SHA256_SIZE])
{
    struct sr_sha256 c;
    unsigned char tail[128] = { 0 };
    size_t whole = len / 64, rest = len % 64, blocks = rest < 56 ? 1 : 2;
    sr_sha256_init(&c);
    sr_sha256_portable(c.h, p, whole);
    memcpy(tail, p + whole * 64, rest);
    tail[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        tail[blocks * 64 - 1 - i] = (unsigned char)((uint64_t)len * 8 >> (8 * i));
    sr_sha256_portable(c.h, tail, blocks);
    for (unsigned i = 0; i < 32; i++)
        out[i] = (unsigned char)(c.h[i / 4] >> (24 - 8 * (i % 4)));
}

Test(sha256, every_length_equals_the_portable_code)
{
    unsigned char in[2048], want[SR_SHA256_SIZE], got[SR_SHA256_SIZE];
    noise_fill(in, sizeof in);
    for (size_t len = 0; len <= sizeof in; len++) {
        digest_portable(in, len, want);
        sr_sha256_bytes(in, len, got);
        cr_assert_eq(memcmp(want, got, sizeof got), 0, "length %zu", len);
    }
}

Test(sha256, every_split_is_the_same_digest)
{
    unsigned char in[257], want[SR_SHA256_SIZE], got[SR_SHA256_SIZE];
    noise_fill(in, sizeof in);
    sr_sha256_bytes(in, sizeof in, want);
    for (size_t first = 0; first <= sizeof in; first++) {
        for (size_t second = 0; first + second <= sizeof in; second += 31) {
            struct sr_sha256 c;
            sr_sha256_init(&c);
            sr_sha256_update(&c, in, first);
            sr_sha256_update(&c, in + first, second);
            sr_sha256_update(&c, in + first + second, sizeof in - first - second);
            sr_sha256_final(&c, got);
            cr_assert_eq(memcmp(want, got, sizeof got), 0, "%zu+%zu", first, second);
        }
    }
}

/* On a CPU without the instructions there is nothing to hold against; the other tests then cover
 * the only code. */
Test(sha256, hardware_transform_equals_the_portable_one)
{
    sr_sha256_fn *hw = sr_sha256_hardware();
    unsigned char in[64 * 33 + 1];
    noise_fill(in, sizeof in);
    for (size_t n = 0; hw && n <= 33; n++) {
        uint32_t a[8] = { 1, 2, 3, 4, 0xffffffff, 6, 0x80000000, 8 }, b[8];
        memcpy(b, a, sizeof b);
        hw(a, in + n % 2, n > 32 ? 32 : n);
        sr_sha256_portable(b, in + n % 2, n > 32 ? 32 : n);
        cr_assert_eq(memcmp(a, b, sizeof a), 0, "%zu blocks", n);
    }
}

Test(sha256, a_descriptor_is_hashed_from_its_offset)
{
    cleanup_fd int fd = memfd_create("sha256", MFD_CLOEXEC);
    unsigned char in[200000], want[SR_SHA256_SIZE], got[SR_SHA256_SIZE];
    struct sr_error err = { 0 };
    uint64_t size = 0;
    noise_fill(in, sizeof in);
    cr_assert_eq(write(fd, in, sizeof in), (ssize_t)sizeof in);
    cr_assert_eq(lseek(fd, 3, SEEK_SET), 3);
    sr_sha256_bytes(in + 3, sizeof in - 3, want);
    cr_assert_eq(sr_sha256_fd(fd, "it", got, &size, &err), 0);
    cr_assert_eq(size, sizeof in - 3);
    cr_assert_eq(memcmp(want, got, sizeof got), 0);
}

Test(sha256, a_directory_cannot_be_hashed_and_the_error_says_which)
{
    cleanup_fd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned char got[SR_SHA256_SIZE];
    struct sr_error err = { 0 };
    cr_assert_eq(sr_sha256_fd(fd, "the-root", got, NULL, &err), -1);
    cr_assert_str_eq(err.code, "file.read");
    cr_assert_eq(err.sys, EISDIR);
    cr_assert_not_null(strstr(err.text, "the-root"));
}
