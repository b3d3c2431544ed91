// The work for building, passes, text and files, and their sizes, must grow linearly with the
// program.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "count.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft::scaling {
namespace {

// A graph with `size` steps that has names, scopes, slices, branches that join much later, and
// small constants.
struct LongProgram {
  Graph g;
  Program p{"p"};
  explicit LongProgram(int size) {
    const Value x = g.input("x", DType::f32, {"rows", 8});
    std::vector<Value> kept;
    Value h = x;
    for (int t = 0; t < size; ++t) {
      h = sin(h * (1.0 + t)) + x;
      g.set_name("h" + std::to_string(t), h);
      kept.push_back(h);
    }
    // Every step is used again in reverse order, as in a backward pass.
    Value back = h;
    for (std::size_t t = kept.size(); t-- > 0;)
      back = back * kept[t] + matmul(back, g.constant(Tensor::full(DType::f32, {8, 8}, 0.1)));
    p.output("y", back);
  }
};

std::string sum_of(int terms, const std::string& term) {
  std::string text = "1";
  for (int i = 0; i < terms; ++i) text += " + " + term + std::to_string(i + 2) + ")";
  return text;
}

BOOST_AUTO_TEST_SUITE(programs_grow_linearly)

BOOST_AUTO_TEST_CASE(passes_and_planning_scale_linearly) {
  check_linear(
      [](int size) {
        LongProgram l(size);
        Counts counts = pass_counts(l.p);
        counts.merge(plan_counts(l.g, l.p, {{"x", {4, 8}}}));
        return counts;
      },
      100);
}

BOOST_AUTO_TEST_CASE(text_and_files_scale_linearly) {
  check_linear(
      [](int size) {
        LongProgram l(size);
        Counts counts;
        std::string text;
        counts["allocations of printing"] = allocations_of([&] { text = to_text(l.p); });
        counts["bytes of text"] = static_cast<double>(text.size());
        counts["bytes allocated by parsing"] = bytes_of([&] { parse_text(text); });
        testing::TemporaryFolder folder;
        Session session(l.g, {.threads = 1});
        const std::string path = folder / "net.weft";
        counts["bytes allocated by saving"] =
            bytes_of([&] { save_checkpoint(path, session, {l.p}); });
        counts["bytes of the file"] = static_cast<double>(std::filesystem::file_size(path));
        counts["bytes allocated by loading"] = bytes_of([&] { load_checkpoint(path); });
        return counts;
      },
      100);
}

BOOST_AUTO_TEST_CASE(inputs_functions_and_requirements_scale_linearly) {
  check_linear(
      [](int size) {
        Graph g;
        Counts counts;
        Program p("p");
        counts["bytes allocated by building"] = bytes_of([&] {
          Value sum;
          for (int t = 0; t < size; ++t) {
            const std::string n = std::to_string(t);
            const Value x = g.input("x" + n, DType::f32, {4});
            define_function(g, "f" + n, {{"x", DType::f32, {"n"}}},
                            [](Graph&, const std::vector<Value>& in) {
                              return std::vector<Value>{exp(in[0])};
                            });
            const Value y = call(g, "f" + n, {x})[0];
            sum = sum.defined() ? sum + y : y;
          }
          p.output("y", sum);
        });
        counts.merge(pass_counts(p));
        return counts;
      },
      50);
}

BOOST_AUTO_TEST_CASE(calls_of_one_function_add_its_requirements_once) {
  Graph g;
  define_function(g, "f", {{"a", DType::f32, {"n"}}, {"b", DType::f32, {"m"}}},
                  [](Graph& body, const std::vector<Value>& in) {
                    body.require(body.dim("n") == body.dim("m"));
                    return std::vector<Value>{in[0] + in[1]};
                  });
  const Value a = g.input("a", DType::f32, {"p"}), b = g.input("b", DType::f32, {"q"});
  for (int i = 0; i < 10; ++i) call(g, "f", {a * double(i), b});
  BOOST_TEST(g.requirements().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_text_of_dims_takes_linear_work) {
  // The sum of distinct quotients keeps one term for each term in its text; the sum of multiples of
  // n is a single term.
  for (const std::string term : {"floor_div(n, ", "(n*"}) {
    check_linear(
        [&](int size) {
          const auto n = std::make_shared<const Symbol>(Symbol{"n"});
          const std::string text = sum_of(size, term);
          return Counts{{"bytes allocated by a dim",
                         bytes_of([&] { Dim::parse(text, [&](std::string_view) { return n; }); }) /
                             std::log2(size)}};
        },
        250);
  }
  std::string many = "min(a0";
  for (int i = 1; i < 100; ++i) many += ", a" + std::to_string(i);
  BOOST_CHECK_THROW(Dim::parse(many + ")",
                               [](std::string_view name) {
                                 return std::make_shared<const Symbol>(Symbol{std::string(name)});
                               }),
                    Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::scaling
