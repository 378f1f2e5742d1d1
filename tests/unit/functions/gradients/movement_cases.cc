#include "tests/unit/functions/gradients/gradient_cases.h"

namespace kiln::tensor::functions {
namespace {

using Ints = std::vector<int64_t>;

std::vector<Case> Movements() {
  const In x = R({2, 3, 2});
  return {
      {"reshape", {x}, {{"shape", Ints{3, -1}}}},
      {"reshape", {R({})}, {{"shape", Ints{1, 1}}}},
      {"reshape", {R({0, 2})}, {{"shape", Ints{3, 0}}}},
      {"expand", {R({3, 1})}, {{"shape", Ints{2, -1, 2}}}},
      {"expand", {R({})}, {{"shape", Ints{2, 0}}}},
      {"permute", {x}, {{"axes", Ints{2, 0, -2}}}},
      {"swapaxes", {x}},
      {"swapaxes", {x}, {{"axis0", 0}, {"axis1", -1}}},
      {"moveaxis", {x}, {{"from", 0}, {"to", -1}}},
      {"squeeze", {R({1, 3, 1})}},
      {"squeeze", {R({1, 3, 1})}, {{"axes", Ints{-1}}}},
      {"unsqueeze", {R({3})}, {{"axes", Ints{0, -1}}}},
      {"flatten", {x}},
      {"flatten", {R({})}},
      {"flatten", {x}, {{"first", -2}}},
      {"flip", {x}},
      {"flip", {x}, {{"axes", Ints{-1, 0}}}},
      {"concat", {R({2, 1}), R({2, 0}), R({2, 3})}},
      {"concat", {R({1, 2}), R({2, 2})}, {{"axis", -2}}},
      {"stack", {R({2}), R({2})}},
      {"stack", {R({2, 2}), R({2, 2}), R({2, 2})}, {{"axis", -1}}},
      {"split", {R({5, 2})}, {{"sizes", Ints{2}}, {"axis", 0}}},
      {"split", {R({2, 3})}, {{"sizes", Ints{1, 0, 2}}}},
      {"tile", {R({2, 3})}, {{"repeats", Ints{2, 1, 2}}}},
      {"tile", {R({2, 3})}, {{"repeats", Ints{0}}}},
      {"repeat_interleave", {R({2, 3})}, {{"repeats", 2}}},
      {"repeat_interleave", {R({2, 3})}, {{"repeats", 3}, {"axis", 0}}},
      {"select", {x}, {{"index", -1}}},
      {"select", {x}, {{"index", 1}, {"axis", 0}}},
      {"slice", {R({5, 3})}, {{"begin", Ints{-1}}, {"end", Ints{-5}}, {"step", Ints{-2}}}},
      {"slice",
       {R({5, 3})},
       {{"begin", Ints{1, 0}}, {"end", Ints{9, 2}}, {"axes", Ints{0, -1}}, {"step", Ints{2, 1}}}},
      {"slice", {R({3})}, {{"begin", Ints{2}}, {"end", Ints{1}}}},
      {"pad", {R({2, 3})}, {{"pads", Ints{1, 2}}, {"value", 3.0}}},
      {"pad", {R({2, 3})}, {{"pads", Ints{1, -1, -1, 2}}}},
      {"pad", {R({2, 4})}, {{"pads", Ints{2, 1}}, {"mode", "reflect"}}},
      {"pad", {R({2, 3})}, {{"pads", Ints{1, 0, 2, 1}}, {"mode", "replicate"}}},
      {"pad", {R({2, 3})}, {{"pads", Ints{2, 3}}, {"mode", "circular"}}},
      {"roll", {R({2, 3})}, {{"shifts", Ints{1, -2}}, {"axes", Ints{0, -1}}}},
      {"tril", {R({3, 4})}},
      {"tril", {R({2, 3, 3})}, {{"offset", -1}}},
      {"triu", {R({3, 4})}},
      {"triu", {R({3, 2})}, {{"offset", 1}}},
      {"meshgrid", {R({2}), R({3}), R({1})}},
      {"meshgrid", {R({2}), R({3})}, {{"indexing", "xy"}}},
      {"sliding_window", {R({2, 5})}, {{"size", 3}}},
      {"sliding_window", {R({5, 2})}, {{"size", 2}, {"step", 2}, {"axis", 0}}},
  };
}

std::vector<Case> Indexing() {
  std::vector<Case> cases = {
      {"gather", {R({2, 3}), I({2, 4}, {0, 2, 2, -1, 1, 1, -3, 0})}, {}, 2},
      {"gather", {R({3, 2}), I({2, 2}, {0, 2, 5, 1})}, {{"axis", 0}}},
      {"gather", {R({3}), I({0}, {})}},
      {"take_along_axis", {R({2, 3}), I({1, 2}, {0, -1})}},
      {"take_along_axis", {R({3, 1}), I({2, 2}, {0, 2, 1, 1})}, {{"axis", 0}}},
      {"index_select", {R({2, 3}), I({4}, {0, 2, 2, -1})}, {}, 2},
      {"index_select", {R({3, 2}), I({2, 2}, {0, 2, 7, 0})}, {{"axis", -2}}},
      {"index_select", {R({3, 2}), I({}, {1})}, {{"axis", 0}}},
      {"index", {R({3, 2, 2}), I({2, 1}, {0, -1}), I({3}, {1, 0, 1})}, {}, 1},
      {"index", {R({3, 2}), I({2}, {1, 1})}},
      {"embedding", {I({2, 3}, {0, 1, 1, 3, -1, 9}), R({4, 2})}, {}, 2},
      {"embedding", {I({}, {2}), R({4, 2})}},
      {"masked_fill", {R({2, 3}), B({3}, {1, 0, 1})}, {{"value", 7.0}}, 2},
      {"masked_fill", {R({}), B({}, {1})}, {{"value", -1.0}}},
      {"sort", {R({2, 4})}, {}, 2},
      {"sort", {R({4, 2})}, {{"axis", 0}, {"descending", true}}},
      {"sort", {R({40})}},
      {"sort", {R({1})}},
      {"topk", {R({2, 5})}, {{"k", 2}}},
      {"topk", {R({5, 2})}, {{"k", 3}, {"axis", 0}, {"largest", false}}},
  };
  for (const char* reduce : {"set", "sum", "prod", "max", "min"}) {
    const Attribute with = {"reduce", reduce};
    cases.push_back({"scatter", {R({2, 4}), I({2, 3}, {0, 2, 2, -1, 1, 1}), R({2, 3})}, {with}, 2});
    cases.push_back({"scatter", {R({3, 2}), I({2, 1}, {2, 9}), R({})}, {with, {"axis", 0}}});
  }
  return cases;
}

std::vector<Case> Products() {
  std::vector<Case> cases = {
      {"linear", {R({2, 3}), R({2, 3}), R({2})}, {}, 2},
      {"linear", {R({3}), R({2, 3})}},
      {"linear", {R({2, 1, 0}), R({2, 0}), R({2})}},
      {"outer", {R({2}), R({3})}, {}, 2},
      {"tensordot", {R({2, 3, 2}), R({3, 2})}, {{"x_axes", Ints{1, -1}}, {"y_axes", Ints{0, 1}}}},
      {"tensordot", {R({2}), R({3})}, {{"x_axes", Ints{}}, {"y_axes", Ints{}}}},
      {"einsum", {R({2, 3}), R({3, 2})}, {{"equation", "ij,jk->ik"}}, 2},
      {"einsum", {R({3, 3})}, {{"equation", "ii->i"}}},
      {"einsum", {R({3, 3})}, {{"equation", "ii"}}},
      {"einsum", {R({2}), R({2, 3}), R({3})}, {{"equation", "i,ij,j->"}}},
      {"einsum", {R({2, 2, 3}), R({2, 3, 2})}, {{"equation", "bij,bjk->bki"}}},
      {"diagonal", {R({3, 4})}},
      {"diagonal", {R({2, 3, 3})}, {{"offset", -1}, {"axis1", -1}, {"axis2", 1}}},
      {"diagonal", {R({2, 2})}, {{"offset", 5}}},
  };
  using Shape = std::vector<int64_t>;
  for (const auto& [x, y] : std::vector<std::pair<Shape, Shape>>{{{2, 3}, {3, 2}},
                                                                 {{3}, {3}},
                                                                 {{3}, {3, 2}},
                                                                 {{2, 3}, {3}},
                                                                 {{2, 1, 2, 3}, {3, 3, 1}},
                                                                 {{1, 1}, {1, 1}},
                                                                 {{2, 0}, {0, 2}},
                                                                 {{0, 3}, {3, 2}}}) {
    cases.push_back({"matmul", {R(x), R(y)}, {}, x.size() == 2 ? 2 : 1});
  }
  return cases;
}

}  // namespace

std::vector<Case> MovementCases() {
  std::vector<Case> cases = Movements();
  for (const std::vector<Case>& more : {Indexing(), Products()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace kiln::tensor::functions
