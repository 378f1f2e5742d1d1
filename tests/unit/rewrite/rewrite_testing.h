// Rewriting of expressions that are written as text (core/uop/text.h).
#pragma once

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/rewrite/driver.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"

namespace kiln::rewrite {

class RewriteTest : public ::testing::Test {
 protected:
  Ref Parse(std::string_view text) {
    absl::StatusOr<Ref> n = uop::Parse(g, text);
    if (!n.ok()) ADD_FAILURE() << n.status();
    return n.ok() ? *n : g.Index(0);
  }
  absl::StatusOr<Ref> Run(std::string_view text, const RuleSet& rules,
                          Order order = Order::kSourcesFirst, Context context = {}) {
    return Rewrite(g, Parse(text),
                   {.name = "test", .rules = rules, .order = order, .context = context});
  }
  // What `text` becomes, as text; or the error.
  std::string Rewritten(std::string_view text, const RuleSet& rules,
                        Order order = Order::kSourcesFirst, Context context = {}) {
    const absl::StatusOr<Ref> n = Run(text, rules, order, context);
    return n.ok() ? uop::ToText(*n) : n.status().ToString();
  }

  Graph g;
};

}  // namespace kiln::rewrite
