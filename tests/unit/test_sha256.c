/* test_sha256.c - published digests, and the same digest for any way of cutting the bytes; with and
 * without the processor's instructions. */
#include "check.h"

#include "base/cpu.h"
#include "base/sha256.h"

static void digest(const void *p, size_t n, size_t piece, char hex[65])
{
    cs_sha256 s;

    cs_sha256_init(&s);
    for (size_t i = 0; i < n; i += piece)
        cs_sha256_add(&s, (const char *)p + i, n - i < piece ? n - i : piece);
    cs_sha256_hex(&s, hex);
}

/* FIPS 180-4 examples, and one million letters a. */
static void test_published(void **state)
{
    static const struct { const char *text, *hex; } row[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" }
    };
    char hex[65], *million = malloc(1000000);

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        digest(row[i].text, strlen(row[i].text), 64, hex);
        assert_string_equal(hex, row[i].hex);
    }
    assert_non_null(million);
    memset(million, 'a', 1000000);
    digest(million, 1000000, 999, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void test_pieces(void **state)
{
    unsigned char bytes[200];
    char want[65], got[65];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        digest(bytes, n, sizeof bytes, want);
        for (size_t piece = 1; piece <= 130; piece += 43) {
            digest(bytes, n, piece, got);
            assert_string_equal(got, want);
        }
    }
}

static void test_file(void **state)
{
    char hex[65];
    FILE *f = fopen("sha256.tmp", "w");

    (void)state;
    assert_non_null(f);
    assert_int_equal(fputs("abc", f) < 0 || fclose(f) != 0, 0);
    assert_int_equal(cs_sha256_file("sha256.tmp", hex), CS_OK);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(remove("sha256.tmp"), 0);
    assert_int_equal(cs_sha256_file("sha256.tmp", hex), CS_EIO);
    cs_error_clear();
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_file)
    };

    if (cs_cpu_init() != CS_OK)
        return EXIT_FAILURE;
    const int n_failed = cmocka_run_group_tests_name("sha256", test, NULL, NULL);
    cs_cpu_hide(CS_CPU_SHA);
    return n_failed + cmocka_run_group_tests_name("sha256, portable", test, NULL, NULL);
}
