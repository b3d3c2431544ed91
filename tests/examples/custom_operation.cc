// A custom operation with an attribute and a gradient, which can be fused with other operations:
// the soft threshold of sparse coding. A network that uses it learns to decompose a signal into a
// sum of a few atoms (LISTA, Gregor and LeCun 2010).
#include <cstdio>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/ops/custom_op.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/record_checks.h"

using namespace weft;

/// x - t for x > t, x + t for x < -t, 0 otherwise.
OpRecord shrink_record() {
  OpRecord op = elementwise_op("shrink", {{"threshold", 0.0}}, [](const Attributes& attributes) {
    return [threshold = attributes.real("threshold")](auto x) {
      const auto t = static_cast<decltype(x)>(threshold);
      return x > t ? x - t : x < -t ? x + t : 0;
    };
  });
  op.doc = "soft threshold (Donoho 1995)";
  op.rule = [](const GradientContext& c) -> std::vector<Value> {
    const Value passes = greater(abs(c.input(0)), c.attributes().real("threshold"));
    return {where(passes, c.cotangent(), 0.0)};
  };
  op.samples = [] {
    return std::vector<OpSample>{{{normal_tensor({9}, 3)}, {{"threshold", 0.4}}}};
  };
  return op;
}

Value shrink(Value x, double threshold, SourceLocation loc = SourceLocation::current()) {
  return apply_op("shrink", {x}, {{"threshold", threshold}}, loc);
}

int main() {
  const auto ops = with_ops({shrink_record()});
  Graph g(ops);
  const Scope net(g, "net");
  // Each signal is a sum of a few of 16 atoms, so most codes are zero.
  const Value codes = shrink(normal(g.key("data"), {64, 16}), 1.5);
  const Value atoms = g.constant(normal_tensor({16, 32}, 1));
  const Value x = matmul(codes, atoms);
  Value h = shrink(linear(net / "first", x, 16), 0.1);
  for (int i = 0; i < 2; ++i)
    h = shrink(linear(net / "again" / i, x, 16) + linear(net / "code" / i, h, 16), 0.1);
  const Value loss = mse(h, codes);
  const Program train =
      Program("train")
          .output("loss", loss)
          .update(adam(loss, g.parameters(), {.lr = warmup_cosine(3e-3, 10, 1500)}));

  // Built-in operations must pass the same checks: kernel, gradient, fusion, threads, text and
  // files.
  const testing::Outcome sound = testing::check_record(ops, "shrink");
  std::printf("checks of shrink: %s\n", sound ? "passed" : sound.message().c_str());

  Session session(g, {.seed = 1});
  float last = 0;
  for (int step = 0; step < 1500; ++step) last = session.run(train)["loss"].item<float>();
  std::printf("mean squared error of the codes %.6f\n", last);

  // The file contains the name of the operation. To read the file, pass a set of operations that
  // contains it.
  save_checkpoint("shrink.weft", session, {train});
  const Checkpoint file = load_checkpoint("shrink.weft", {.ops = ops});
  Session loaded(file.graph(), file.store());
  const bool same =
      bitwise_equal(loaded.run(file.program("train"))["loss"], session.run(train)["loss"]);
  try {
    load_checkpoint("shrink.weft");
    return 1;
  } catch (const FormatError& e) {
    std::printf("%s\n", e.what());
  }
  return sound && last < 0.01f && same ? 0 : 1;
}
