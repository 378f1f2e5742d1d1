#!/usr/bin/python3
"""Prints core/codegen/coefficients.h: polynomials for the elementary functions.

Each is the polynomial of its degree with the smallest squared error over the Chebyshev nodes of its
interval, which is the truncated Chebyshev series and within a few per cent of the minimax polynomial
for functions as smooth as these. Source: Trefethen, "Approximation Theory and Approximation Practice",
chapters 4 and 16. The coefficients are rounded to the type one by one, lowest degree first, and the
rest is fitted again each time, so that the higher ones make up for the rounding of the lower ones.
All in 60-digit arithmetic.
"""
import math
import struct
from decimal import Decimal as D, getcontext

getcontext().prec = 60
LN2 = D(2).ln()
NODES = 200


def series(coefficient, terms):
    """The power series with these coefficients, as a function."""
    c = [coefficient(n) for n in range(terms)]
    return lambda x: evaluate(c, x)


def evaluate(c, x):
    result = D(0)
    for a in reversed(c):
        result = result * x + a
    return result


EXP2 = series(lambda n: LN2 ** (n + 1) / math.factorial(n + 1), 40)
LOG = series(lambda n: D(2) / (2 * n + 3), 60)
ATANH = series(lambda n: D(1) / (2 * n + 5), 60)
SIN = series(lambda n: D((-1) ** (n + 1)) / math.factorial(2 * n + 3), 30)
COS = series(lambda n: D((-1) ** n) / math.factorial(2 * n + 4), 30)

Z_LOG = D("0.02943726")  # s^2 where (1+s)/(1-s) = sqrt(2), rounded up.
Z_SIN = D("0.6168503")  # (pi/4)^2, rounded up.

TABLE = [
    # Name, meaning, function, interval, degree in float32 and in float64.
    ("Exp2", "(2^x - 1) / x on |x| <= 1/4", EXP2, D("-0.25"), D("0.25"), 5, 9),
    ("Log", "(log((1+s)/(1-s)) - 2s) / s^3 in z = s^2", LOG, D(0), Z_LOG, 3, 7),
    ("Atanh", "(atanh(s) - s - s^3/3) / s^5 in z = s^2", ATANH, D(0), Z_LOG, 3, 7),
    ("Sin", "(sin(x) - x) / x^3 in z = x^2, |x| <= pi/4", SIN, D(0), Z_SIN, 3, 6),
    ("Cos", "(cos(x) - 1 + x^2/2) / x^4 in z = x^2, |x| <= pi/4", COS, D(0), Z_SIN, 3, 5),
]


def solve(a, b):
    """The solution of the linear system a x = b, by Gaussian elimination with pivoting."""
    n = len(b)
    a = [row + [v] for row, v in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[p] = a[p], a[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            for c in range(i, n + 1):
                a[r][c] -= f * a[i][c]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][c] * x[c] for c in range(i + 1, n))) / a[i][i]
    return x


def least_squares(nodes, values, powers):
    """Coefficients of x^p, p in powers, that come closest to the values."""
    gram = [[sum(x ** (p + q) for x in nodes) for q in powers] for p in powers]
    return solve(gram, [sum(v * x**p for x, v in zip(nodes, values)) for p in powers])


def round_to(v, bits):
    code = "f" if bits == 32 else "d"
    return D(struct.unpack(code, struct.pack(code, float(v)))[0])


def fit(f, lo, hi, degree, bits):
    """Rounded coefficients, and the largest error at points between the nodes."""
    angles = [math.pi * (i + 0.5) / NODES for i in range(NODES)]
    nodes = [(lo + hi) / 2 + (hi - lo) / 2 * D(math.cos(a)) for a in angles]
    rest = [f(x) for x in nodes]
    fixed = []
    for k in range(degree + 1):
        c = round_to(least_squares(nodes, rest, range(k, degree + 1))[0], bits)
        rest = [v - c * x**k for x, v in zip(nodes, rest)]
        fixed.append(c)
    points = [lo + (hi - lo) * i / 997 for i in range(998)]
    error = max(abs(f(x) - evaluate(fixed, x)) for x in points)
    return fixed, error


def short_hex(v):
    digits, exponent = float(v).hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent


def main():
    print("// Polynomials, lowest degree first. Written by core/codegen/minimax.py.")
    print("#pragma once\n\nnamespace kiln::codegen::internal {\n")
    for name, what, f, lo, hi, *degrees in TABLE:
        print(f"// {what}.")
        for bits, degree in zip((32, 64), degrees):
            c, error = fit(f, lo, hi, degree, bits)
            print(f"// Error below 2^{math.ceil(math.log2(error))}.")
            print(f"inline constexpr double k{name}{bits}[] = {{{', '.join(short_hex(v) for v in c)}}};")
        print()
    print("}  // namespace kiln::codegen::internal")


if __name__ == "__main__":
    main()
