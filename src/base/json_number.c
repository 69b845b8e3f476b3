/* SPDX-License-Identifier: MIT */
/* Whether a number written in decimal is the number that a double gives back. */
#include "base/json_scan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number taken apart: 0.d1d2...dn * 10^exp, no zero at either end of the digits. */
struct decimal {
    char digits[20];
    int n;
    long exp;
    bool long_; /* more digits than any double keeps */
};

enum { DOUBLE_DIGITS = 17 };

static void decimal_digit(struct decimal *d, char c, bool before_point, int *zeros)
{
    if (before_point && (d->n > 0 || c != '0'))
        d->exp++;
    if (c == '0') { /* held back: zeros at the end say nothing */
        if (d->n > 0)
            (*zeros)++;
        else if (!before_point)
            d->exp--;
        return;
    }
    if (d->n + *zeros + 1 > DOUBLE_DIGITS) {
        d->long_ = true;
        return;
    }
    for (; *zeros > 0; (*zeros)--)
        d->digits[d->n++] = '0';
    d->digits[d->n++] = c;
}

static struct decimal decimal_of(const char *p, const char *end)
{
    struct decimal d = { 0 };
    bool before_point = true;
    int zeros = 0;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.')
            before_point = false;
        else if ((*p >= '0' && *p <= '9'))
            decimal_digit(&d, *p, before_point, &zeros);
    }
    if (p < end) {
        bool minus = *++p == '-';
        long e = 0;
        for (p += *p == '-' || *p == '+'; p < end; p++)
            e = e > 100000 ? e : e * 10 + (*p - '0');
        d.exp += minus ? -e : e;
    }
    return d;
}

/* True when the double nearest to d, printed with as many digits, is d again and no integer beyond
 * 2^53-1 is meant. */
static bool decimal_survives(const struct decimal *d)
{
    char text[48], again[48];
    if (d->n == 0)
        return true;
    if (d->long_)
        return false;
    /* Without a decimal point: strtod would want the locale's. */
    snprintf(text, sizeof text, "%.*se%ld", d->n, d->digits, d->exp - d->n);
    double v = strtod(text, NULL);
    if (!isfinite(v) || v > 9007199254740991.0 || v < DBL_MIN)
        return false;
    snprintf(again, sizeof again, "%.*e", d->n - 1, v);
    const char *p = again;
    for (int i = 0; i < d->n; i++, p++) {
        p += i == 1; /* the point */
        if (*p != d->digits[i])
            return false;
    }
    snprintf(text, sizeof text, "e%+03ld", d->exp - 1); /* as %e spells its exponent */
    return strcmp(p, text) == 0;
}

bool sr_json_number_survives(const char *start, const char *end)
{
    struct decimal d = decimal_of(start, end);
    return decimal_survives(&d);
}
