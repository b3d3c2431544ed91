// The parameters of CRF layers.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/crf.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(crf_layers)

BOOST_AUTO_TEST_CASE(make_crf_declares_the_parameters_of_pytorch_crf) {
  Graph g;
  const Scope net(g, "net");
  const CrfTransitions crf = make_crf(net / "crf", DType::f64, 5);
  BOOST_TEST(crf.transitions.type().str() == "f64[5, 5]");
  BOOST_TEST(crf.start.value().type().str() == "f64[5]");
  BOOST_TEST(crf.end.value().type().str() == "f64[5]");
  Program p("p");
  for (const char* name : {"transitions", "start_transitions", "end_transitions"}) {
    p.output(name, g.find_variable(std::string("net.crf.") + name));
  }
  Session session(g, {.seed = 3, .threads = 1});
  for (const auto& [name, tensor] : session.run(p)) {
    double largest = 0;
    for (const double x : elements_of(tensor)) largest = std::max(largest, std::abs(x));
    BOOST_TEST(largest <= 0.1, name);
    BOOST_TEST(largest > 0.01, name);
  }
}

BOOST_AUTO_TEST_CASE(a_crf_without_tags_is_an_error) {
  Graph g;
  const Scope net(g, "net");
  check_error<ArgumentError>(
      [&] { make_crf(net, DType::f32, 0); },
      {"make_crf: a CRF needs at least one tag, not 0", "crf_layer_test.cc"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
