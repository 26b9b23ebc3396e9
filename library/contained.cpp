// Defines the functions of libfmt and libxxhash that the core uses. So the library does not need these two, whose
// versions differ from system to system.
#include <fmt/format-inl.h>

#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>

// format.h declares them as instantiated elsewhere.
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
