// The messages of the wire, by their short name.
#pragma once

namespace kiln::v1 {}

namespace kiln::server {
namespace pb = kiln::v1;  // NOLINT(misc-unused-alias-decls)
}
