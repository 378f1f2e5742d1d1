#include "tests/replay/strided.h"

#include <utility>
#include <vector>

#include "core/dtype/int128.h"
#include "core/uop/facts.h"
#include "core/uop/node_map.h"

namespace kiln::replay {
namespace {

constexpr int64_t kPrime = (int64_t{1} << 61) - 1;

int64_t Mod(Int128 v) { return static_cast<int64_t>((v % kPrime + kPrime) % kPrime); }

int64_t Inverse(int64_t v) {
  int64_t result = 1;
  for (int64_t e = kPrime - 2; e > 0; e >>= 1) {
    if (e & 1) result = Mod(Int128{result} * v);
    v = Mod(Int128{v} * v);
  }
  return result;
}

// Linear equations modulo a prime, in echelon form.
class Equations {
 public:
  explicit Equations(size_t unknowns) : rows_(unknowns) {}

  // Adds sum(row[i] * unknown[i]) == row.back(). False if it contradicts those before.
  bool Add(std::vector<int64_t> row) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (row[i] == 0) continue;
      if (rows_[i].empty()) {
        const int64_t inverse = Inverse(row[i]);
        for (int64_t& v : row) v = Mod(Int128{v} * inverse);
        rows_[i] = std::move(row);
        return true;
      }
      const int64_t factor = row[i];
      for (size_t k = i; k < row.size(); ++k) row[k] = Mod(row[k] - Int128{factor} * rows_[i][k]);
    }
    return row.back() == 0;
  }

 private:
  std::vector<std::vector<int64_t>> rows_;  // Row i begins with a 1 at i, or is empty.
};

}  // namespace

bool IsAffine(const Elements& elements) {
  Equations equations(elements.shape.size() + 1);
  for (size_t e = 0; e < elements.offsets.size(); ++e) {
    if (elements.offsets[e] < 0) return false;
    std::vector<int64_t> row = elements.coordinates[e];
    for (int64_t& v : row) v = Mod(v);
    row.push_back(1);
    row.push_back(Mod(elements.offsets[e]));
    if (!equations.Add(std::move(row))) return false;
  }
  return true;
}

bool IsStridedForm(Graph& g, Ref index) {
  const auto is_free = [&](Ref n) { return uop::RangesOf(g, n).empty(); };
  uop::NodeMap<bool> seen;
  std::vector<Ref> terms = {index};
  while (!terms.empty()) {
    Ref n = terms.back();
    terms.pop_back();
    if (is_free(n)) continue;
    if (n->Is(Op::kAdd)) {
      terms.insert(terms.end(), n->src().begin(), n->src().end());
      continue;
    }
    Ref range = n;
    if (n->Is(Op::kMul)) {
      if (!is_free(n->src(0)) && !is_free(n->src(1))) return false;
      range = is_free(n->src(0)) ? n->src(1) : n->src(0);
    }
    if (!range->Is(Op::kRange) || seen[range]) return false;
    seen[range] = true;
  }
  return true;
}

}  // namespace kiln::replay
