// Sparse training steps, which update only the rows that the loss reads.
#include "weft/autodiff/optimizers/sparse_gradient.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

namespace tt = boost::test_tools;
using Names = std::vector<std::string>;

// A small embedding model: rows of a table, followed by a layer.
struct TokenProblem {
  explicit TokenProblem(std::int64_t count, DType dtype = DType::f32, std::int64_t width = 6)
      : table(g.variable("net.table", dtype, {count, width},
                         {.initializer = Initializer::normal(1)})),
        weight(
            g.variable("net.weight", dtype, {width, 3}, {.initializer = Initializer::normal(1)})),
        tokens(g.input("tokens", DType::i32, {"batch", 4})),
        loss(mean(square(matmul(tanh(embedding(tokens, table)), weight) - 0.3))) {}

  Graph g;
  Variable table, weight;
  Value tokens, loss;
};

enum class Kind { sgd, adagrad, adam, adamw };
constexpr Kind kKinds[] = {Kind::sgd, Kind::adagrad, Kind::adam, Kind::adamw};

TrainingStep build_step(Kind kind, const Loss& loss, const std::vector<Variable>& parameters,
                        const StepOptions& step, double weight_decay = 0) {
  switch (kind) {
    case Kind::sgd:
      return sgd(loss, parameters, {.lr = 0.5, .weight_decay = weight_decay, .step = step});
    case Kind::adagrad:
      return adagrad(loss, parameters, {.lr = 0.1, .weight_decay = weight_decay, .step = step});
    case Kind::adam:
      return adam(loss, parameters, {.lr = 0.1, .weight_decay = weight_decay, .step = step});
    case Kind::adamw: break;
  }
  return adamw(loss, parameters, {.lr = 0.1, .weight_decay = weight_decay, .step = step});
}

// Returns token IDs below `bound` for step `step`; some IDs occur more than once.
Tensor tokens_of(int step, std::int64_t bound, std::int64_t batch = 3) {
  return sample_indices({batch, 4}, static_cast<std::uint64_t>(step) + 1, bound).to(DType::i32);
}

struct Trained {
  std::map<std::string, Tensor> values;
  double norm = 0;  // norm in the last step
};

Trained train(Kind kind, const Names& sparse, DType dtype, std::int64_t count, int steps,
              const StepOptions& options = {}, double weight_decay = 0, int threads = 2) {
  TokenProblem p(count, dtype);
  StepOptions with = options;
  with.sparse = sparse;
  const TrainingStep step = build_step(kind, p.loss, {p.table, p.weight}, with, weight_decay);
  const Program program = Program("train").update(step).output("norm", step.gradient_norm);
  Session session(p.g, {.seed = 3, .threads = threads});
  Trained result;
  for (int s = 0; s < steps; ++s) {
    result.norm =
        session.run(program, {{"tokens", tokens_of(s, std::min<std::int64_t>(count, 9))}})["norm"]
            .item<double>();
  }
  for (const Variable& v : p.g.variables()) {
    if (v.info().kind == VariableKind::key) continue;
    result.values.emplace(v.name(), session.value(v.name()).clone());
  }
  return result;
}

void check_same_bits(const Trained& a, const Trained& b) {
  BOOST_REQUIRE(a.values.size() == b.values.size());
  for (const auto& [name, value] : a.values)
    BOOST_TEST(bitwise_equal(value, b.values.at(name)), name << " differs");
}

void check_close(const Trained& a, const Trained& b, double tolerance) {
  BOOST_REQUIRE(a.values.size() == b.values.size());
  for (const auto& [name, value] : a.values) {
    for (std::int64_t i = 0; i < value.numel(); ++i)
      BOOST_TEST(std::fabs(value.at(i) - b.values.at(name).at(i)) <= tolerance, name);
  }
}

const Names kTable = {"net.table"};

}  // namespace

BOOST_AUTO_TEST_SUITE(sparse_gradients)

BOOST_AUTO_TEST_CASE(gradients_of_one_row_are_summed_in_order) {
  Graph g;
  // If the values were added in another order, the sums of row 7 would be 0 and 1.
  const Value rows = g.constant(Tensor::of<std::int32_t>({6}, {7, 2, 7, 0, 7, 2}));
  const Value values = g.constant(Tensor::of<float>({6, 1}, {1e8f, 1, -1e8f, 5, 1, 10}));
  const SparseGradient found = sparse_gradient(rows, values);
  Session session(g);
  const Results r = session.run(Program("p")
                                    .output("rows", found.rows)
                                    .output("values", found.values)
                                    .output("used", found.used)
                                    .output("dense", dense_gradient(found, 9)));
  BOOST_TEST(r["rows"].to_vector<std::int64_t>() == (std::vector<std::int64_t>{0, 2, 7, 0, 0, 0}),
             tt::per_element());
  BOOST_TEST(r["values"].to_vector<float>() == (std::vector<float>{5, 11, 1, 0, 0, 0}),
             tt::per_element());
  for (std::int64_t i = 0; i < 6; ++i) BOOST_TEST((r["used"].at(i) != 0) == (i < 3));
  BOOST_TEST(r["dense"].to_vector<float>() == (std::vector<float>{5, 0, 11, 0, 0, 0, 0, 1, 0}),
             tt::per_element());
}

BOOST_AUTO_TEST_CASE(sparse_gradients_equal_dense_gradients_bit_for_bit) {
  for (const DType dtype : {DType::i32, DType::i64}) {
    for (const Sizes& sizes : {Sizes{}, Sizes{1}, Sizes{40}, Sizes{3, 5, 2}, Sizes{4, 0}}) {
      Graph g;
      const Variable table =
          g.variable("table", DType::f32, {11, 5}, {.initializer = Initializer::normal(1)});
      const Tensor at = sample_indices(sizes, 4, 11).to(dtype);
      const Value looked_up = take(table, g.constant(at));
      const Value loss = sum(exp(looked_up * 0.7) * looked_up);
      const SparseGradient sparse = sparse_gradient(g.constant(at), gradient(loss, looked_up));
      Session session(g, {.seed = 2});
      const Results r = session.run(Program("p")
                                        .output("sparse", dense_gradient(sparse, 11))
                                        .output("dense", gradient(loss, table.value())));
      BOOST_TEST(bitwise_equal(r["sparse"], r["dense"]));
    }
  }
}

BOOST_AUTO_TEST_CASE(sparse_sgd_and_adagrad_match_dense_steps_bit_for_bit) {
  for (const Kind kind : {Kind::sgd, Kind::adagrad}) {
    check_same_bits(train(kind, kTable, DType::f32, 30, 12), train(kind, {}, DType::f32, 30, 12));
    // The norm is summed in a different order.
    const StepOptions clipped{.clip_norm = 0.05};
    const Trained sparse = train(kind, kTable, DType::f64, 30, 12, clipped);
    const Trained dense = train(kind, {}, DType::f64, 30, 12, clipped);
    check_close(sparse, dense, 1e-14);
    BOOST_TEST(sparse.norm == dense.norm, tt::tolerance(1e-14));
    BOOST_TEST(sparse.norm > 0.1);  // the norm was clipped
  }
}

BOOST_AUTO_TEST_CASE(sparse_adam_equals_adam_if_all_rows_are_read) {
  for (const Kind kind : kKinds) {
    TokenProblem a(5, DType::f64), b(5, DType::f64);
    std::vector<Tensor> found;
    for (TokenProblem* p : {&a, &b}) {
      const TrainingStep step =
          build_step(kind, p->loss, {p->table, p->weight},
                     {.clip_norm = 0.3, .sparse = p == &a ? kTable : Names{}}, 0.1);
      Session session(p->g, {.seed = 1});
      for (int s = 0; s < 8; ++s) {
        // Every token occurs, and the last tokens occur twice.
        std::vector<std::int32_t> all = {0, 1, 2, 3, 4, 4, 3, s % 5};
        session.run(Program("train").update(step),
                    {{"tokens", Tensor::of<std::int32_t>({2, 4}, all)}});
      }
      found.push_back(session.value("net.table").clone());
    }
    for (std::int64_t i = 0; i < found[0].numel(); ++i)
      BOOST_TEST(found[0].at(i) == found[1].at(i), tt::tolerance(1e-12));
  }
}

// The update rule is computed by hand. Rows that are not read keep their moments, and t counts all
// steps.
BOOST_AUTO_TEST_CASE(lazy_adam_does_not_change_the_moments_of_unread_rows) {
  Graph g;
  const Variable table =
      g.variable("table", DType::f64, {4, 1}, {.initializer = Initializer::constant(1)});
  const Value rows = g.input("rows", DType::i64, {"n"});
  const Value factors = g.input("factors", DType::f64, {"n", 1});
  const Value loss = sum(take(table, rows) * factors);
  const TrainingStep step =
      adamw(loss, {table}, {.lr = 0.1, .weight_decay = 0.2, .step = {.sparse = {"table"}}});
  const Program program = Program("train").update(step);
  Session session(g);
  const std::vector<std::vector<std::int64_t>> read = {{2, 0, 2}, {1}, {2, 1}, {0, 0}};
  std::vector<double> p(4, 1), m(4), v(4);
  for (std::size_t s = 0; s < read.size(); ++s) {
    std::map<std::int64_t, double> gradient;
    std::vector<double> all;
    for (const std::int64_t row : read[s]) {
      all.push_back(0.3 + 0.5 * static_cast<double>(all.size()) - 0.2 * static_cast<double>(s));
      gradient[row] += all.back();
    }
    const auto n = std::ssize(all);
    session.run(program, {{"rows", Tensor::of<std::int64_t>({n}, read[s])},
                          {"factors", Tensor::of<double>({n, 1}, all)}});
    const auto t = static_cast<double>(s + 1);
    for (const auto& [row, sum] : gradient) {
      const auto i = static_cast<std::size_t>(row);
      m[i] = 0.9 * m[i] + 0.1 * sum;
      v[i] = 0.999 * v[i] + 0.001 * sum * sum;
      p[i] -= 0.1 * 0.2 * p[i] + 0.1 / (1 - std::pow(0.9, t)) * m[i] /
                                     (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      BOOST_TEST(std::fabs(session.value("table").at(at) - p[i]) < 1e-12);
      BOOST_TEST(std::fabs(session.value("optimizer.table.m").at(at) - m[i]) < 1e-12);
      BOOST_TEST(std::fabs(session.value("optimizer.table.v").at(at) - v[i]) < 1e-12);
    }
  }
  BOOST_TEST(session.value("table").at(3) == 1);
}

BOOST_AUTO_TEST_CASE(unread_rows_keep_their_bits_despite_weight_decay) {
  for (const Kind kind : kKinds) {
    TokenProblem p(40);
    const TrainingStep step =
        build_step(kind, p.loss, {p.table, p.weight}, {.clip_norm = 1, .sparse = kTable}, 0.3);
    Session session(p.g, {.seed = 5});
    const Tensor before = session.value("net.table").clone();
    const Tensor tokens = tokens_of(1, 40);
    session.run(Program("train").update(step), {{"tokens", tokens}});
    std::set<std::int64_t> read;
    for (std::int64_t i = 0; i < tokens.numel(); ++i)
      read.insert(static_cast<std::int64_t>(tokens.at(i)));
    const Tensor after = session.value("net.table");
    for (std::int64_t r = 0; r < 40; ++r) {
      bool same = true;
      for (std::int64_t i = 6 * r; i < 6 * r + 6; ++i) same = same && before.at(i) == after.at(i);
      BOOST_TEST(same == (read.count(r) == 0), "row " << r);
    }
  }
}

BOOST_AUTO_TEST_CASE(negative_zeros_in_unread_rows_stay_negative) {
  Graph g;
  const Variable table =
      g.variable("table", DType::f32, {3, 2}, {.initializer = Initializer::constant(-0.0)});
  const Value loss = sum(take(table, g.constant(Tensor::of<std::int64_t>({3}, {1, 1, 1}))));
  Session session(g);
  session.run(
      Program("train").update(sgd(loss, {table}, {.lr = 1, .step = {.sparse = {"table"}}})));
  const std::vector<float> now = session.value("table").to_vector<float>();
  for (const std::size_t i : {0, 1, 4, 5}) BOOST_TEST((now[i] == 0 && std::signbit(now[i])));
  BOOST_TEST(now[2] == -3);
}

BOOST_AUTO_TEST_CASE(several_lookups_of_one_matrix_have_one_gradient) {
  std::vector<Tensor> found;
  for (const bool sparse : {false, true}) {
    Graph g;
    const Variable table =
        g.variable("table", DType::f64, {20, 3}, {.initializer = Initializer::normal(1)});
    const Value left = g.input("left", DType::i32, {"n"}),
                right = g.input("right", DType::i64, {7});
    // Padding has no gradient and does not contribute to the norm of the step.
    const Value loss = sum(tanh(embedding(left, table, 4))) * mean(square(take(table, right)));
    const TrainingStep step =
        adagrad(loss, {table}, {.step = {.sparse = sparse ? Names{"table"} : Names{}}});
    Session session(g, {.seed = 9});
    for (int s = 0; s < 5; ++s) {
      session.run(Program("train").update(step),
                  {{"left", sample_indices({5}, s, 20).to(DType::i32)},
                   {"right", sample_indices({7}, s + 50, 20)}});
    }
    found.push_back(session.value("table").clone());
  }
  for (std::int64_t i = 0; i < 60; ++i)
    BOOST_TEST(std::fabs(found[0].at(i) - found[1].at(i)) < 1e-13);
}

BOOST_AUTO_TEST_CASE(a_nonfinite_step_does_not_change_any_row_or_state) {
  for (const Kind kind : kKinds) {
    TokenProblem p(12);
    const Value scale = p.g.input("scale", DType::f32, {});
    const TrainingStep step = build_step(kind, p.loss * scale, {p.table, p.weight},
                                         {.skip_nonfinite = true, .sparse = kTable}, 0.1);
    const Program program = Program("train").update(step);
    Session session(p.g, {.seed = 1});
    const auto run = [&](double factor) {
      session.run(program,
                  {{"tokens", tokens_of(0, 12)}, {"scale", Tensor::scalar(DType::f32, factor)}});
      std::map<std::string, Tensor> values;
      for (const Variable& v : p.g.variables()) {
        if (v.info().kind != VariableKind::key)
          values.emplace(v.name(), session.value(v.name()).clone());
      }
      return values;
    };
    const auto before = run(1), after = run(HUGE_VAL), next = run(1);
    for (const auto& [name, value] : before) BOOST_TEST(bitwise_equal(value, after.at(name)), name);
    BOOST_TEST(!bitwise_equal(before.at("net.table"), next.at("net.table")));
  }
}

// Apart from the variables, no memory grows with the size of the table.
BOOST_AUTO_TEST_CASE(the_memory_of_a_step_does_not_grow_with_the_table) {
  for (const Kind kind : kKinds) {
    std::vector<MemoryReport> reports;
    for (const std::int64_t count : {1'000, 1'000'000}) {
      TokenProblem p(count);
      const TrainingStep step =
          build_step(kind, p.loss, {p.table, p.weight},
                     {.clip_norm = 1, .skip_nonfinite = true, .sparse = kTable}, 0.1);
      Session session(p.g);
      reports.push_back(
          session
              .plan(Program("train").update(step).output("loss", p.loss), {{"tokens", Sizes{8, 4}}})
              ->memory());
    }
    // A few buffers of 32 rows with 24 bytes each suffice, although the table has 24 MB.
    BOOST_TEST(reports[1].arena <= 16U << 10);
    BOOST_TEST(reports[1].arena <= reports[0].arena + 1024);
    BOOST_TEST(reports[1].packed == 0U);
    BOOST_TEST(reports[1].outputs == reports[0].outputs);
    BOOST_TEST(reports[1].variables >= 24'000'000U);
  }
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  const MoreThreads more(5);
  for (const Kind kind : kKinds) {
    const StepOptions options{.clip_norm = 0.1};
    const Trained one = train(kind, kTable, DType::f32, 30, 6, options, 0.1, 1);
    check_same_bits(one, train(kind, kTable, DType::f32, 30, 6, options, 0.1, 2));
    check_same_bits(one, train(kind, kTable, DType::f32, 30, 6, options, 0.1, 5));
  }
}

BOOST_AUTO_TEST_CASE(saved_training_can_be_resumed_bit_for_bit) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "weft_sparse_step_test.weft").string();
  for (const Kind kind : kKinds) {
    TokenProblem p(25);
    const Program program = Program("train").update(
        build_step(kind, p.loss, {p.table, p.weight}, {.clip_norm = 1, .sparse = kTable}, 0.1));
    Session session(p.g, {.seed = 7});
    for (int s = 0; s < 3; ++s) session.run(program, {{"tokens", tokens_of(s, 25)}});
    save_checkpoint(path, session, {program});
    const Checkpoint file = load_checkpoint(path);
    Session resumed(file.graph(), file.store());
    for (int s = 3; s < 6; ++s) {
      session.run(program, {{"tokens", tokens_of(s, 25)}});
      resumed.run(file.program("train"), {{"tokens", tokens_of(s, 25)}});
    }
    for (const Variable& v : p.g.variables())
      BOOST_TEST(bitwise_equal(session.value(v.name()), resumed.value(v.name())), v.name());
  }
  std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(updates_that_change_all_rows_are_rejected) {
  TokenProblem p(8);
  const StepOptions sparse{.sparse = kTable};
  const std::vector<Variable> both = {p.table, p.weight};
  const std::vector<Value> dense = gradients(p.loss, both);
  const auto refused = [&](auto build, std::vector<std::string> parts) {
    const std::size_t nodes = p.g.node_count();
    check_error<ArgumentError>(build, std::move(parts));
    BOOST_TEST(p.g.variables().size() == 2U);
    BOOST_TEST(p.g.node_count() == nodes);
  };
  refused([&] { sgd(p.loss, both, {.momentum = 0.9, .step = sparse}); },
          {"sgd: 'net.table' is in StepOptions::sparse, but momentum also updates rows without a "
           "gradient"});
  refused([&] { lion(p.loss, both, {.step = sparse}); },
          {"lion: 'net.table' is in StepOptions::sparse, but Lion also updates rows"});
  refused([&] { adafactor(p.loss, both, {.step = sparse}); },
          {"adafactor: 'net.table'", "computes means over whole matrices"});
  refused(
      [&] { sgd(p.loss, both, {.step = {.sparse = {"net.tabel"}}}); },
      {"sgd: StepOptions::sparse names 'net.tabel', which is not one of the parameters (did you "
       "mean 'net.table'?)"});
  refused([&] { sgd(p.loss, both, {.step = {.sparse = {"net.weight"}}}); },
          {"sgd: the gradient of 'net.weight' is not sparse", "matmul"});
  refused([&] { sgd(dense, both, {.step = sparse}); },
          {"sgd: StepOptions::sparse requires the loss"});
  Graph g;
  const Variable bias = g.variable("bias", DType::f32, {3}),
                 other = g.variable("other", DType::f32, {3, 2});
  check_error<ArgumentError>(
      [&] { sgd(sum(bias.value()), {bias}, {.step = {.sparse = {"bias"}}}); },
      {"sgd: StepOptions::sparse names 'bias', which is not a matrix but f32[3]"});
  check_error<ArgumentError>(
      [&] {
        sgd(sum(bias.value()), {bias, other}, {.step = {.sparse = {"other"}}});
      },
      {"sgd: 'other' should have a sparse gradient, but the loss reads none of its rows",
       "sparse_gradient_test.cc"});
  const Value ids = g.input("ids", DType::i32, {"n"});
  check_error<ShapeError>([&] { sparse_gradient(ids, bias.value()); },
                          {"`values` must have the axes of `rows` and one more"});
  check_error<DTypeError>([&] { sparse_gradient(bias.value(), other.value()); },
                          {"`rows` must be i32 or i64, but its dtype is f32"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
