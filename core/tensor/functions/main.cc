// Prints the reference page of the function library.
#include <cstdio>

#include "core/tensor/functions/schema.h"

int main() {
  const std::string page = kiln::tensor::functions::ReferencePage();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
