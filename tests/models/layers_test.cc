#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(layers)
namespace {

template <class E, class Fn>
void check_fails(Fn&& fn, const std::string& part, int line) {
  BOOST_CHECK_EXCEPTION(fn(), E, [&](const Error& e) {
    BOOST_TEST_INFO(e.what());
    BOOST_TEST(std::string(e.what()).find(part) != std::string::npos);
    // The error names the line that calls the layer, not a line inside the library.
    BOOST_TEST(std::string(e.what()).find("layers_test.cc:" + std::to_string(line)) !=
               std::string::npos);
    return true;
  });
}

BOOST_AUTO_TEST_CASE(linear_supports_both_weight_layouts) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Value a = linear(net / "a", x, 2);
  const Value b = linear(net / "b", x, 2, {.bias = false, .weight_layout = LinearLayout::in_out});
  BOOST_TEST(a.type().str() == "f32[batch, 2]");
  BOOST_TEST(g.find_variable("net.a.weight").value().type().str() == "f32[2, 3]");
  BOOST_TEST(g.find_variable("net.a.bias").value().type().str() == "f32[2]");
  BOOST_TEST(g.find_variable("net.b.weight").value().type().str() == "f32[3, 2]");
  BOOST_TEST(!g.has_variable("net.b.bias"));
  const Program program = Program("p").output("a", a).output("b", b);
  Session session(g, {.seed = 1, .threads = 1});
  session.initialise();
  session.set_value("net.a.weight", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  session.set_value("net.a.bias", Tensor::of<float>({2}, {10, 20}));
  session.set_value("net.b.weight", Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6}));
  const Results results = session.run(program, {{"x", Tensor::of<float>({1, 3}, {1, 0, 2})}});
  BOOST_TEST(results["a"].to_vector<float>() == (std::vector<float>{17, 36}),
             boost::test_tools::per_element());
  BOOST_TEST(results["b"].to_vector<float>() == (std::vector<float>{7, 16}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(linear_weights_are_initialised_within_one_over_sqrt_fan_in) {
  Graph g;
  linear(Scope(g, "l"), g.input("x", DType::f32, {16}), 8);
  Session session(g, {.seed = 1, .threads = 1});
  session.initialise();
  const Tensor weight = session.value("l.weight");
  double largest = 0;
  for (std::int64_t i = 0; i < weight.numel(); ++i)
    largest = std::max(largest, std::abs(weight.at(i)));
  BOOST_TEST(largest <= 0.25);
  BOOST_TEST(largest > 0.2);
}

BOOST_AUTO_TEST_CASE(layers_have_the_expected_shapes_and_names) {
  Graph g;
  const Scope net(g, "net");
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  Value h = embedding(net / "tok", ids, {.vocab = 11, .width = 8});
  h = h + learned_positions(net / "pos", h, {.context = 5});
  h = layer_norm(net / "ln", h);
  h = h + self_attention(net / "attn", h, {.heads = 2});
  h = h + feed_forward(net / "mlp", rms_norm(net / "rms", h), {.activation = Activation::silu});
  BOOST_TEST(h.type().str() == "f32[batch, seq, 8]");
  std::vector<std::string> names;
  for (const Variable& v : g.variables()) names.push_back(v.name());
  const std::vector<std::string> expected = {"net.tok.weight",         "net.pos.weight",
                                             "net.ln.weight",          "net.ln.bias",
                                             "net.attn.c_attn.weight", "net.attn.c_attn.bias",
                                             "net.attn.c_proj.weight", "net.attn.c_proj.bias",
                                             "net.rms.weight",         "net.mlp.c_fc.weight",
                                             "net.mlp.c_fc.bias",      "net.mlp.c_proj.weight",
                                             "net.mlp.c_proj.bias"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  Session session(g, {.seed = 1, .threads = 1});
  const Program program = Program("p").output("h", h);
  const Results results =
      session.run(program, {{"ids", Tensor::of<std::int32_t>({1, 3}, {1, 2, 10})}});
  BOOST_TEST(to_string(results["h"].sizes()) == "[1, 3, 8]");
  BOOST_CHECK_THROW(session.run(program, {{"ids", Tensor::of<std::int32_t>({1, 1}, {11})}}),
                    DataError);
  BOOST_CHECK_THROW(session.run(program, {{"ids", Tensor::zeros(DType::i32, {1, 6})}}), DataError);
}

BOOST_AUTO_TEST_CASE(errors_state_the_line_of_the_caller) {
  Graph g;
  const Scope net(g, "net");
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  const Value x = g.input("x", DType::f32, {"batch", "features"});
  const Value h = g.input("h", DType::f32, {"batch", "seq", 6});
  const Value y = g.input("y", DType::f32, {"batch", 6});
  const Value scalar = g.input("s", DType::f32, {});
  // clang-format off
  check_fails<DTypeError>([&] { linear(net / "a", ids, 2); }, "embed token ids first", __LINE__);
  check_fails<ShapeError>([&] { linear(net / "b", x, 2); }, "has the symbolic size features", __LINE__);
  check_fails<ShapeError>([&] { layer_norm(net / "c", scalar); }, "x is a scalar", __LINE__);
  check_fails<ArgumentError>([&] { linear(net / "d", h, 0); }, "at least one feature on either side, not 6 -> 0", __LINE__);
  check_fails<ArgumentError>([&] { embedding(net / "e", ids, {.vocab = 3}); }, "vocab and width must be at least 1, not 3 and 0", __LINE__);
  check_fails<ArgumentError>([&] { learned_positions(net / "f", h); }, "the sequence has the symbolic size seq", __LINE__);
  check_fails<ArgumentError>([&] { self_attention(net / "g", h, {.heads = 4}); }, "width 6 is not a multiple of heads 4", __LINE__);
  check_fails<ShapeError>([&] { self_attention(net / "i", y, {.heads = 2}); }, "x must be [batch, seq, width]", __LINE__);
  // clang-format on
  Graph other;
  BOOST_CHECK_THROW(linear(Scope(other, "net"), h, 2), GraphError);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
