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
#include "weft/graph/text/text.h"
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

/// Returns true for functions, which are closed; all other bodies capture values.
bool is_closed(const Control& control) {
  const std::string name = control.name;
  return name == "function" || name == "custom_gradient";
}

BOOST_AUTO_TEST_CASE(captured_values_are_named_together_with_the_remedy) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    const Variable w = g.variable("w", DType::f32, {4, 4});
    const auto product = [&](Graph&, Value in) { return matmul(in, w); };
    const auto noise = [&](Graph&, Value in) { return in + normal(g.key("k"), in.shape()); };
    if (!is_closed(control)) {
      control.apply(g, x, product);
      if (std::string(control.name) != "a condition") control.apply(g, x, noise);
      return;
    }
    check_error<GraphError>(
        [&] { control.apply(g, x, product); },
        {"operand b of matmul", "belongs to another graph", "function 'f' is closed",
         "created by variable 'w' at ", "body_errors_test.cc", "pass other values as operands"});
    check_error<GraphError>(
        [&] { control.apply(g, x, noise); },
        {"random_normal: operand 'key' is a Value of another graph", "function 'f' is closed",
         "pass other values as operands", "body_errors_test.cc"});
  });
}

// A function inside of a loop is closed, too.
BOOST_AUTO_TEST_CASE(functions_in_bodies_are_closed) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4});
  const auto body = [&](Value (*other)(Value carry, Value x)) {
    return [&x, other](Graph& b, const ScanElements& in) {
      return ScanStep{custom_gradient(
          b, "f", {in.carries[0]},
          [&](Graph&, const Values& v) { return Values{v[0] * other(in.carries[0], x)}; },
          [](Graph&, const Values& v) { return Values{v[2]}; })};
    };
  };
  for (const auto other :
       {+[](Value carry, Value) { return carry; }, +[](Value, Value outer) { return outer; }}) {
    check_error<GraphError>([&] { scan(g, {x}, {}, {}, body(other), {.length = 2}); },
                            {"mul: operand 'b' is a Value of another graph",
                             "function 'f' is closed", "pass other values as operands"});
  }
}

BOOST_AUTO_TEST_CASE(values_of_unrelated_graphs_are_rejected_in_bodies) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    Graph other;
    const Value foreign = other.input("y", DType::f32, {4});
    check_error<GraphError>(
        [&] { control.apply(g, x, [&](Graph&, Value in) { return in + foreign; }); },
        {"operand 'b' is a Value of another graph; values cannot cross graphs",
         "it was created by input 'y' at ", "body_errors_test.cc"});
    check_error<GraphError>(
        [&] { control.apply(g, x, [&](Graph&, Value) { return foreign; }); },
        {"output 0 of ", "belongs to another graph; values cannot cross graphs"});
    BOOST_TEST(g.functions().empty());
  });
}

BOOST_AUTO_TEST_CASE(values_of_a_complete_body_cannot_be_used) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    Value inner;
    control.apply(g, x, [&](Graph&, Value in) { return inner = in * 2; });
    const auto use = [&] { return x + inner; };
    check_error<GraphError>(use, {"is a Value of another graph", "which is complete: return it"});
    check_error<GraphError>([&] { return inner + x; },
                            {"is a Value of another graph", "which is complete: return them"});
    check_error<GraphError>([&] { scan(g, {inner}, {}, {}, {}, {.length = 2}); },
                            {"scan 'scan': carry 0", "which is complete: return it"});
    check_error<GraphError>([&] { Program("p").output("x", x).output("y", inner); },
                            {"program 'p': output 'y'", "which is complete: return it"});
    // Also after an error.
    if (is_closed(control)) return;
    Value failed;
    BOOST_CHECK_THROW(control.apply(g, x,
                                    [&](Graph&, Value in) {
                                      failed = in * 3;
                                      return matmul(failed, failed);
                                    }),
                      ShapeError);
    check_error<GraphError>([&] { return x + failed; }, {"is a Value of another graph"});
  });
}

BOOST_AUTO_TEST_CASE(declarations_in_bodies_are_rejected_with_the_remedy) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    check_error<GraphError>(
        [&] {
          control.apply(g, x,
                        [](Graph& b, Value in) { return in + b.variable("w", DType::f32, {4}); });
        },
        {"variable 'w' cannot be declared in ", "a Scope of that graph", "body_errors_test.cc"});
    check_error<GraphError>(
        [&] {
          control.apply(g, x,
                        [&](Graph& b, Value in) { return in + b.input("y", DType::f32, {4}); });
        },
        {"input 'y'", "body_errors_test.cc"});
  });
}

BOOST_AUTO_TEST_CASE(variables_cannot_be_updated_in_bodies) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    const Variable w = g.variable("w", DType::f32, {});
    const SourceLocation here = SourceLocation::current();
    const auto body = [&](Graph&, Value in) {
      return layer(
          g, [&] { return with_update(in, w, sum(in)); }, here);
    };
    if (is_closed(control)) {
      check_error<GraphError>([&] { control.apply(g, x, body); }, {"with_update", "is closed"});
      return;
    }
    check_error<GraphError>(
        [&] { control.apply(g, x, body); },
        {"with_update: variable 'w' cannot be updated in ",
         "return the new value as a carry or an output", "in layer called at " + line_of(here)});
  });
}

// Everything that a failed callback has added is removed: variables and keys of the enclosing
// graph, captured values and functions of the enclosing body.
BOOST_AUTO_TEST_CASE(failed_bodies_leave_nothing_behind) {
  for_each_control([](const Control& control, Graph& g, Value x) {
    if (is_closed(control)) return;
    const Value outer = g.input("outer", DType::f32, {4});
    const std::size_t nodes = g.node_count();
    const auto fails = [&](Graph&, Value in) {
      const Value w = g.variable("w", DType::f32, {4});
      return matmul(in * w * outer, in);
    };
    for (int attempt = 0; attempt < 2; ++attempt) {
      BOOST_CHECK_THROW(control.apply(g, x, fails), ShapeError);
      BOOST_TEST(g.node_count() >= nodes);
      BOOST_TEST(!g.has_variable("w"));
      BOOST_TEST(g.functions().empty());
    }
    // A callback that recovers from an error of an inner loop.
    const Value y = control.apply(g, x, [&](Graph& b, Value in) {
      BOOST_CHECK_THROW(control.apply(b, in, fails), ShapeError);
      BOOST_TEST(!g.has_variable("w"));
      return in * 0.5;
    });
    const std::string text = to_text(Program("p").output("y", y));
    BOOST_TEST(text.find("outer") == std::string::npos, text);
  });
}

BOOST_AUTO_TEST_CASE(errors_of_captured_values_name_the_line_and_the_step) {
  Graph g;
  const Value table = g.input("table", DType::f32, {3, 2}), ids = g.input("ids", DType::i64, {4});
  SourceLocation here;
  const ScanResult r = scan(
      g, {g.input("h", DType::f32, {2})}, {}, {},
      [&](Graph&, const ScanElements& in) {
        here = SourceLocation::current();
        const Value row = take(table, take(ids, in.index) + cast(sum(in.carries[0]), DType::i64));
        return ScanStep{{in.carries[0] + row}};
      },
      {.length = 4});
  const Program p = Program("p").output("y", r.carries[0]);
  const auto run = [&](bool passes) {
    Session(g, {.threads = 1, .passes = passes})
        .run(p, {{"table", Tensor::zeros(DType::f32, {3, 2})},
                 {"ids", Tensor::of<std::int64_t>({4}, {0, 2, 3, 0})},
                 {"h", Tensor::zeros(DType::f32, {2})}});
  };
  for (const bool passes : {false, true}) {
    check_error<DataError>([&] { run(passes); },
                           {"3", "in step 2 of 4 of the loop at", "body_errors_test.cc"});
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
