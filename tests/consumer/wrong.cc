// Prints the error message that README.md shows.
#include <cstdio>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

int main() {
  weft::Graph g;
  weft::Value x = g.input("x", weft::DType::f32, {"batch", 784});
  weft::Variable weight = g.variable("weight", weft::DType::f32, {512, 10});
  try {
    weft::Value h = matmul(x, weight);
    std::printf("built %s\n", h.type().str().c_str());
  } catch (const weft::Error& error) {
    std::printf("%s\n", error.what());
  }
}
