// Properties that must hold across the boundary of a shared library: errors can be caught by type,
// and the headers and the library have the same version.
#include <cstdio>
#include <stdexcept>
#include <string>

#include "weft/core/version.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"

using namespace weft;

int main() {
  if (version_number() != WEFT_VERSION || version().empty()) {
    std::printf("headers have version %d, the library %d\n", WEFT_VERSION, version_number());
    return 1;
  }
  Graph g;
  const Value a = g.input("a", DType::f32, {2, 3}), b = g.input("b", DType::f32, {4, 5});
  try {
    matmul(a, b);
    std::puts("the product of [2, 3] and [4, 5] did not throw");
    return 1;
  } catch (const ShapeError& error) {
    std::printf("%s\n", error.what());
  }
  try {
    g.ops().at("no such op");
    return 1;
  } catch (const std::exception& error) {  // caught as a reference to its base class
    if (dynamic_cast<const ArgumentError*>(&error) == nullptr) return 1;
  }
  return 0;
}
