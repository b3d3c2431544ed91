// The smallest useful program: a matrix product that links only the ops it needs.
#include <cstdio>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/builtin.h"

using namespace weft;

int main() {
  Graph g(op_set<MatmulOps>());
  const Value a = g.input("a", DType::f32, {"m", "k"}), b = g.input("b", DType::f32, {"k", "n"});
  Program program("product");
  program.output("c", matmul(a, b));
  Session session(g);
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor c = session.run(program, {{"a", x}, {"b", x}})["c"];
  std::printf("%g %g %g %g\n", c.data<float>()[0], c.data<float>()[1], c.data<float>()[2],
              c.data<float>()[3]);
}
