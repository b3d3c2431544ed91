// Errors in the bodies of loops, branches and functions name the user's line, whether the user or a
// library function builds the body, and whether the graph or its data is wrong.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;
using Values = std::vector<Value>;

/// A layer of a library: its line is library code, and its caller is the user.
template <class F>
Value layer(Graph& graph, F build, SourceLocation loc) {
  const Graph::Frame frame(graph, "layer", loc, "net.layer");
  return build();
}

/// All control flow that runs a body, each with `body` as one of its bodies.
struct Control {
  const char* name;
  std::function<Value(Graph&, Value x, const std::function<Value(Graph&, Value)>& body)> apply;
};

Values identity(Graph&, const Values& in) { return in; }

const Control kControls[] = {
    {"scan",
     [](Graph& g, Value x, const auto& body) {
       return scan(g, {x}, {}, {},
                   [&](Graph& b, const ScanElements& in) {
                     return ScanStep{{body(b, in.carries[0])}};
                   },
                   {.length = 3})
           .carries[0];
     }},
    {"scan in segments",
     [](Graph& g, Value x, const auto& body) {
       return scan(g, {x}, {}, {},
                   [&](Graph& b, const ScanElements& in) {
                     return ScanStep{{body(b, in.carries[0])}};
                   },
                   {.length = 4, .segment = 2})
           .carries[0];
     }},
    {"cond, first branch",
     [](Graph&, Value x, const auto& body) {
       return cond(
           sum(x) < 1e6, {x}, [&](Graph& b, const Values& in) { return Values{body(b, in[0])}; },
           identity)[0];
     }},
    {"cond, second branch",
     [](Graph&, Value x, const auto& body) {
       return cond(sum(x) > 1e6, {x}, identity,
                   [&](Graph& b, const Values& in) { return Values{body(b, in[0])}; })[0];
     }},
    {"while_loop",
     [](Graph& g, Value x, const auto& body) {
       return while_loop(
           g, {x}, [](Graph&, const Values& in) { return Values{sum(in[0]) < 1e6}; },
           [&](Graph& b, const Values& in) { return Values{body(b, in[0])}; }, 3)[0];
     }},
    {"a condition",
     [](Graph& g, Value x, const auto& body) {
       return while_loop(
           g, {x}, [&](Graph& b, const Values& in) { return Values{sum(body(b, in[0])) < 1e6}; },
           identity, 3)[0];
     }},
    {"function",
     [](Graph& g, Value x, const auto& body) {
       define_function(g, "f", {{"x", DType::f32, {"n", 4}}},
                       [&](Graph& b, const Values& in) { return Values{body(b, in[0])}; });
       return call(g, "f", {x})[0];
     }},
    {"custom_gradient",
     [](Graph& g, Value x, const auto& body) {
       return custom_gradient(
           g, "f", {x}, [&](Graph& b, const Values& in) { return Values{body(b, in[0])}; },
           [](Graph&, const Values& in) { return Values{in[2]}; })[0];
     }},
    {"nested scans",
     [](Graph& g, Value x, const auto& body) {
       const auto inner = [&](Graph& b, const ScanElements& in) {
         return ScanStep{{scan(b, {in.carries[0]}, {}, {},
                               [&](Graph& c, const ScanElements& again) {
                                 return ScanStep{{body(c, again.carries[0])}};
                               },
                               {.length = 2})
                              .carries[0]}};
       };
       return scan(g, {x}, {}, {}, inner, {.length = 2}).carries[0];
     }},
};

std::string line_of(SourceLocation loc) { return loc.str(); }

/// Calls check(control, g, x) for all control flow.
void for_each_control(const std::function<void(const Control&, Graph&, Value)>& check) {
  for (const Control& control : kControls) {
    BOOST_TEST_CONTEXT(control.name) {
      Graph g;
      check(control, g, g.input("x", DType::f32, {"n", 4}));
    }
  }
}

BOOST_AUTO_TEST_SUITE(body_errors)

BOOST_AUTO_TEST_CASE(errors_of_ops_in_bodies_name_the_line) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    SourceLocation here;
    const auto body = [&](Graph&, Value in) {
      return here = SourceLocation::current(), matmul(in, in);
    };
    check_error<ShapeError>([&] { control.apply(g, x, body); }, {"matmul: "});
    BOOST_CHECK_EXCEPTION(control.apply(g, x, body), ShapeError,
                          testing::message_contains({"at " + line_of(here)}));
  });
}

// A layer holds a Scope of the enclosing graph, so its frame is opened there.
BOOST_AUTO_TEST_CASE(errors_of_layers_of_the_enclosing_graph_in_bodies_name_the_line) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    const SourceLocation here = SourceLocation::current();
    const auto body = [&](Graph&, Value in) {
      return layer(
          g, [&] { return matmul(in, in); }, here);
    };
    check_error<ShapeError>([&] { control.apply(g, x, body); },
                            {"matmul: ", "in layer called at " + line_of(here)});
  });
}

// A library function builds the loop, so no line of its body is the user's.
BOOST_AUTO_TEST_CASE(errors_in_bodies_of_library_functions_name_the_line_of_the_caller) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    const SourceLocation here = SourceLocation::current();
    const auto body = [&](Graph&, Value in) { return matmul(in, in); };
    check_error<ShapeError>(
        [&] {
          layer(
              g, [&] { return control.apply(g, x, body); }, here);
        },
        {"matmul: ", "in layer called at " + line_of(here)});
  });
}

BOOST_AUTO_TEST_CASE(errors_of_the_data_in_bodies_name_the_line) {
  for (const bool in_library : {false, true}) {
    for_each_control([&](const Control& control, Graph& g, Value x) {
      const SourceLocation here = SourceLocation::current();
      const auto rows = [](const Value& in) {
        return take(in, in.graph().constant(Tensor::of<std::int64_t>({1}, {7})), 0) * 0 + in;
      };
      const auto body = [&](Graph&, Value in) {
        return in_library ? rows(in)
                          : layer(
                                g, [&] { return rows(in); }, here);
      };
      const Value y = in_library ? layer(
                                       g, [&] { return control.apply(g, x, body); }, here)
                                 : control.apply(g, x, body);
      Session session(g, {.threads = 1});
      const Program p = Program("p").output("y", y);
      check_error<DataError>(
          [&] {
            session.run(p, {{"x", Tensor::zeros(DType::f32, {2, 4})}});
          },
          {"7", "in layer called at " + line_of(here)});
    });
  }
}

BOOST_AUTO_TEST_CASE(captured_values_are_named_together_with_the_remedy) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    const Variable w = g.variable("w", DType::f32, {4, 4});
    check_error<GraphError>(
        [&] { control.apply(g, x, [&](Graph&, Value in) { return matmul(in, w); }); },
        {"another graph", "created by variable 'w' at ", "body_errors_test.cc",
         "pass other values as operands"});
    // The key is a value of the enclosing graph, but the shape belongs to the body.
    check_error<GraphError>(
        [&] {
          control.apply(g, x,
                        [&](Graph&, Value in) { return in + normal(g.key("k"), in.shape()); });
        },
        {"random_normal: the sizes contain 'n' of the body that is being built",
         "operands are values of an enclosing graph", "pass other values as operands",
         "body_errors_test.cc"});
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
