// The code on docs/transformers.md that declares and applies a model.
#include <boost/test/unit_test.hpp>

#include "weft/graph/weights/parameter_count.h"
#include "weft/models/families/gpt.h"
#include "weft/testing/graph_checks.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_CASE(a_gpt_is_declared_once_and_applied_in_both_modes) {
  GptConfig config{.vocab = 11, .layers = 1, .heads = 2, .width = 8, .context = 8};
  config.residual_dropout = 0.1;
  Graph g;
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value tokens = g.input("tokens", DType::i64, {"rows", "new"});
  const Value position = g.input("position", DType::i64, {});

  const Gpt gpt(Scope(g), config);
  const Value loss = next_token_loss(gpt.training()({.ids = ids}).logits, ids);
  const Value logits = gpt.evaluation()({.ids = ids}).logits;
  const GptDecoding step = gpt.decode(tokens, position);  // decoding is always evaluation

  const auto dropouts = [](Value y) {
    return testing::count_ops(Program("p").output("y", y), "dropout");
  };
  BOOST_TEST(dropouts(loss) == 2);
  BOOST_TEST(dropouts(logits) == 0);
  BOOST_TEST(dropouts(step.logits) == 0);
  BOOST_TEST(count_parameters(g) == config.parameter_count());
  // Positions [8, 8], and the tokens [11, 8], which the head shares.
  const Scope root(g);
  BOOST_TEST(count_parameters(root) == count_parameters(g));
  BOOST_TEST(count_parameters(root / "transformer" / "wpe") == 64);
  BOOST_TEST(count_parameters(root / "transformer" / "wte") == 88);
  BOOST_TEST(count_parameters(root / "lm_head") == 0);
  BOOST_TEST(count_parameters(root / "transformer" / "w") == 0);
}

}  // namespace
}  // namespace weft
