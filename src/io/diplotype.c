/* diplotype.c - diplotype codes: the two haplotypes at a site as one of 66 printable codes. */
#include "io/diplotype.h"

#include <string.h>

#include "base/err.h"
#include "io/alphabet.h"

/* A row per first haplotype symbol, from itself on: five bases, five insertions, the deletion. */
const char cs_diplotype_codes[CS_N_DIPLOTYPE + 1] =
    "AMRWa" "bdefh" "1"
    "CSYc" "ijklm" "2"
    "GKg" "nopqr" "3"
    "Tt" "suvwx" "4"
    "N" "yzOPQ" "5"
    "E!$%&" "6"
    "F()+" "7"
    "I=?" "8"
    "J~" "9"
    "L" "0"
    "-";

char cs_diplotype_code(int hap1, int hap2)
{
    const int a = hap1 < hap2 ? hap1 : hap2, b = hap1 < hap2 ? hap2 : hap1;
    CS_BUG(a < 0 || b >= CS_N_HAP);
    return cs_diplotype_codes[a * CS_N_HAP - a * (a - 1) / 2 + b - a];
}

int cs_diplotype_of(char code)
{
    const char *p = code != '\0' ? strchr(cs_diplotype_codes, code) : NULL;
    return p ? (int)(p - cs_diplotype_codes) : -1;
}

void cs_diplotype_split(int place, int *hap1, int *hap2)
{
    int a = 0;
    CS_BUG(place < 0 || place >= CS_N_DIPLOTYPE);
    for (; place >= CS_N_HAP - a; a++)
        place -= CS_N_HAP - a;
    *hap1 = a;
    *hap2 = a + place;
}

const char *cs_haplotype_name(int hap)
{
    static const char *const name[CS_N_HAP] = {
        "A", "C", "G", "T", "N", "AI", "CI", "GI", "TI", "NI", "DEL"
    };
    CS_BUG(hap < 0 || hap >= CS_N_HAP);
    return name[hap];
}

int cs_hap_of_base(char base)
{
    const uint8_t code = cs_base_code[(unsigned char)base];
    return code < 4 ? CS_HAP_A + code : CS_HAP_N;
}
