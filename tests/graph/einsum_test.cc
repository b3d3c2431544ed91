#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "weft/graph/functions/linalg/linalg.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

Tensor run(const std::string& equation, const std::vector<Tensor>& operands) {
  Graph g;
  std::vector<Value> values;
  Feed feed;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values.push_back(
        g.input("in" + std::to_string(i), {operands[i].dtype(), Shape(operands[i].sizes())}));
    feed[values.back()] = operands[i];
  }
  return evaluate_graph({einsum(equation, values)}, feed)[0];
}

// Computes einsum by its definition, as a sum over all values of all labels. Supports letters and
// explicit outputs only.
std::vector<double> reference(const std::string& equation, const std::vector<Tensor>& operands) {
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  const std::string output = equation.substr(arrow + 2);
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      sizes[terms[i][axis]] = operands[i].size(static_cast<int>(axis));
    }
  }
  std::int64_t total = 1, results = 1;
  for (const auto& [label, size] : sizes) total *= size;
  for (const char label : output) results *= sizes[label];
  std::vector<double> out(static_cast<std::size_t>(results));
  for (std::int64_t at = 0; at < total; ++at) {
    std::map<char, std::int64_t> value;
    std::int64_t rest = at;
    for (const auto& [label, size] : sizes) {
      value[label] = rest % size;
      rest /= size;
    }
    const auto index = [&](const std::string& labels) {
      std::int64_t i = 0;
      for (const char label : labels) i = i * sizes[label] + value[label];
      return i;
    };
    double product = 1;
    for (std::size_t i = 0; i < terms.size(); ++i) product *= operands[i].at(index(terms[i]));
    out[static_cast<std::size_t>(index(output))] += product;
  }
  return out;
}

void check(const std::string& equation, const std::vector<Sizes>& shapes) {
  BOOST_TEST_CONTEXT(equation) {
    std::vector<Tensor> operands;
    for (const Sizes& s : shapes) {
      operands.push_back(sample_uniform(s, operands.size() + 1).to(DType::f64));
    }
    const Tensor out = run(equation, operands);
    const std::vector<double> expected = reference(equation, operands);
    BOOST_REQUIRE_EQUAL(out.numel(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      BOOST_REQUIRE_SMALL(out.at(static_cast<std::int64_t>(i)) - expected[i], 1e-12);
    }
  }
}

void check_same(const std::string& equation, const std::string& same,
                const std::vector<Sizes>& shapes) {
  BOOST_TEST_CONTEXT(equation) {
    std::vector<Tensor> operands;
    for (const Sizes& s : shapes) operands.push_back(sample_uniform(s, operands.size() + 1));
    BOOST_CHECK(bitwise_equal(run(equation, operands), run(same, operands)));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(einsum_function)

BOOST_AUTO_TEST_CASE(einsum_matches_its_definition) {
  check("ij,jk->ik", {{3, 4}, {4, 5}});
  check("ij,kj->ik", {{3, 4}, {5, 4}});
  check("ji,jk->ki", {{4, 3}, {4, 5}});
  check("bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}});
  check("bhlr,lrd->bhld", {{2, 3, 4, 6}, {4, 6, 5}});
  check("bhld,lrd->bhlr", {{1, 2, 3, 4}, {3, 5, 4}});
  check("i,j->ij", {{3}, {5}});
  check("i,i->", {{6}, {6}});
  check("ij,ij->ij", {{3, 4}, {3, 4}});
  check("ij,ji->", {{3, 4}, {4, 3}});
  check("ij->ji", {{3, 4}});
  check("ijk->", {{2, 3, 4}});
  check("ijk->kj", {{2, 3, 4}});
  check("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
  check("ij,kl->jl", {{2, 3}, {4, 5}});
  check("abc,cd,bd->ad", {{2, 3, 4}, {4, 5}, {3, 5}});
  check("abcd,dbef->acef", {{2, 3, 4, 5}, {5, 3, 2, 4}});
  check("ij,j->i", {{0, 3}, {3}});
  check("ij,jk->ik", {{2, 0}, {0, 3}});
}

BOOST_AUTO_TEST_CASE(repeated_labels_select_diagonals) {
  check("ii->i", {{4, 4}});
  check("ii->", {{4, 4}});
  check("iij->ji", {{3, 3, 2}});
  check("iii->i", {{3, 3, 3}});
  check("ijij->ij", {{2, 3, 2, 3}});
  check("ii,ij->j", {{3, 3}, {3, 4}});
}

BOOST_AUTO_TEST_CASE(implicit_outputs_and_spaces_are_supported) {
  check_same("ij,jk", "ij,jk->ik", {{2, 3}, {3, 4}});
  check_same("ba", "ba->ab", {{2, 3}});
  check_same("ii", "ii->", {{3, 3}});
  check_same(" i j , j k -> i k ", "ij,jk->ik", {{2, 3}, {3, 4}});
  check_same("...ij,...jk", "bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
}

BOOST_AUTO_TEST_CASE(an_ellipsis_matches_any_axes_and_broadcasts) {
  check_same("...ij,jk->...ik", "abij,jk->abik", {{2, 3, 4, 5}, {5, 6}});
  check_same("i...->...", "iab->ab", {{2, 3, 4}});
  check_same("...->...", "ab->ab", {{2, 3}});
  const Tensor a = sample_uniform({2, 1, 3, 4}, 1), b = sample_uniform({5, 4, 3}, 2);
  const Tensor wide = run("...ij,...jk->...ik", {a, b});
  BOOST_CHECK(wide.sizes() == (Sizes{2, 5, 3, 3}));
  BOOST_CHECK(bitwise_equal(wide, run("aij,bjk->abik", {a.reshape({2, 3, 4}), b})));
  // A "..." axis that does not occur in the output is summed.
  const Tensor x = sample_uniform({2, 3}, 3);
  BOOST_CHECK(bitwise_equal(run("...i->i", {x}), run("bi->i", {x})));
}

BOOST_AUTO_TEST_CASE(symbolic_sizes_are_supported) {
  Graph g;
  const Value a = g.input("a", DType::f32, {"batch", "seq", 4});
  const Value b = g.input("b", DType::f32, {"batch", 4, "seq"});
  const Value c = einsum("bij,bjk->bik", {a, b});
  BOOST_CHECK_EQUAL(c.type().str(), "f32[batch, seq, seq]");
  BOOST_CHECK_EQUAL(einsum("bii->bi", {c}).type().str(), "f32[batch, seq]");
  BOOST_CHECK_EQUAL(einsum("bij,bij->b", {a, a}).type().str(), "f32[batch]");
}

BOOST_AUTO_TEST_CASE(errors_state_the_reason) {
  Graph g;
  const Value a = g.input("a", DType::f32, {2, 3});
  const Value b = g.input("b", DType::f32, {4, 5});
  const Value s = g.input("s", DType::f32, {"n", 3});
  check_error<ShapeError>(
      [&] {
        einsum("ij,jk->ik", {a, b});
      },
      {"einsum", "j is 3 in operand 0 and 4 in operand 1", "f32[2, 3]", "einsum_test.cc"});
  check_error<ShapeError>(
      [&] {
        einsum("ij,kj->ik", {a, einsum("ij->ji", {s})});
      },
      {"j is 3 in operand 0 and n in operand 1", "cannot be proven equal"});
  check_error<ShapeError>([&] { einsum("ijk->i", {a}); },
                          {"requires operand 0 to have 3 axes, but it has shape [2, 3]"});
  check_error<ShapeError>([&] { einsum("...ijk->i", {a}); }, {"operand 0 to have at least 3 axes"});
  check_error<ArgumentError>(
      [&] {
        einsum("ij->i", {a, b});
      },
      {"has subscripts for 1 operands, but 2 operands were passed"});
  check_error<ArgumentError>([&] { einsum("i1->i", {a}); }, {"illegal '1' at position 1"});
  check_error<ArgumentError>([&] { einsum("..ij->i", {a}); }, {"illegal '.' at position 0"});
  check_error<ArgumentError>([&] { einsum("......->", {a}); }, {"two \"...\" in one term"});
  check_error<ArgumentError>([&] { einsum("ij->ii", {a}); }, {"label i twice in its output"});
  check_error<ArgumentError>([&] { einsum("ij->ik", {a}); },
                             {"label k in its output but not in any operand"});
  check_error<ArgumentError>([&] { einsum("ij->", {}); }, {"needs at least one operand"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
