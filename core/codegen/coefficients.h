// Polynomials, lowest degree first. Written by core/codegen/minimax.py.
#pragma once

namespace kiln::codegen::internal {

// (2^x - 1) / x on |x| <= 1/4.
// Error below 2^-28.
inline constexpr double kExp232[] = {0x1.62e43p-1,  0x1.ebfbep-3,   0x1.c6b03ep-5,
                                     0x1.3b2a98p-7, 0x1.5e4a4ap-10, 0x1.4393aep-13};
// Error below 2^-55.
inline constexpr double kExp264[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a342p-5,  0x1.3b2ab6fba4b15p-7,
    0x1.5d87fe77b9f7bp-10, 0x1.430912fb15c43p-13, 0x1.ffcc01d1e5f81p-17, 0x1.62c006a79dccp-20,
    0x1.b540771d45a22p-24, 0x1.e5b1b325b5666p-28};

// (log((1+s)/(1-s)) - 2s) / s^3 in z = s^2.
// Error below 2^-25.
inline constexpr double kLog32[] = {0x1.555556p-1, 0x1.99986cp-2, 0x1.24c21p-2, 0x1.ce5d92p-3};
// Error below 2^-54.
inline constexpr double kLog64[] = {
    0x1.5555555555555p-1, 0x1.9999999999d57p-2, 0x1.249249242f2dcp-2, 0x1.c71c725be2616p-3,
    0x1.745cdba4bfeacp-3, 0x1.3b214fe9c8c1bp-3, 0x1.0f4afab763684p-3, 0x1.101b0863c263ep-3};

// (atanh(s) - s - s^3/3) / s^5 in z = s^2.
// Error below 2^-28.
inline constexpr double kAtanh32[] = {0x1.99999ap-3, 0x1.24921p-3, 0x1.c70418p-4, 0x1.827d1cp-4};
// Error below 2^-56.
inline constexpr double kAtanh64[] = {
    0x1.999999999999ap-3, 0x1.24924924922fdp-3, 0x1.c71c71c74cd03p-4, 0x1.745d173c932e5p-4,
    0x1.3b13a9ed8ba2dp-4, 0x1.111549f6d921p-4,  0x1.e01ae9f3cb95cp-5, 0x1.da9635447d2b8p-5};

// (sin(x) - x) / x^3 in z = x^2, |x| <= pi/4.
// Error below 2^-27.
inline constexpr double kSin32[] = {-0x1.555556p-3, 0x1.11119ap-7, -0x1.a08584p-13, 0x1.88275ap-19};
// Error below 2^-56.
inline constexpr double kSin64[] = {
    -0x1.5555555555555p-3,  0x1.111111111101ep-7,  -0x1.a01a019fe8844p-13, 0x1.71de3a1031287p-19,
    -0x1.ae63f7f223f3dp-26, 0x1.60e5c00180745p-33, -0x1.8d49f292f2328p-41};

// (cos(x) - 1 + x^2/2) / x^4 in z = x^2, |x| <= pi/4.
// Error below 2^-29.
inline constexpr double kCos32[] = {0x1.555556p-5, -0x1.6c17d4p-10, 0x1.a0f5d8p-16,
                                    -0x1.590332p-22};
// Error below 2^-58.
inline constexpr double kCos64[] = {0x1.5555555555555p-5,  -0x1.6c16c16c168ccp-10,
                                    0x1.a01a019f38b8fp-16, -0x1.27e4fa0381bc7p-22,
                                    0x1.1eeb586c39143p-29, -0x1.9073eb7b1abc3p-37};

}  // namespace kiln::codegen::internal
