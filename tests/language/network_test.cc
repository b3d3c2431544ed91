// Properties of all language networks.
#include "weft/models/language/network.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/language/convolution_network.h"
#include "weft/models/language/hmm_network.h"
#include "weft/models/language/network_kinds.h"
#include "weft/models/language/network_programs.h"
#include "weft/models/language/window_network.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_error;
using testing::max_difference;
using Ids = std::vector<std::int32_t>;

constexpr NetworkKind kKinds[] = {
    NetworkKind::averaging, NetworkKind::hmm,  NetworkKind::window,      NetworkKind::rnn,
    NetworkKind::gru,       NetworkKind::lstm, NetworkKind::convolution, NetworkKind::transformer};

struct MadeNetwork {
  explicit MadeNetwork(NetworkKind kind, std::int64_t vocab = 5, std::int64_t width = 6)
      : network(
            make_network(kind, Scope(g, "net"), {.vocab = vocab, .width = width, .context = 24})),
        programs(network_programs(*network)),
        logits((*network)(g.find_input("tokens"))) {}

  Graph g;
  std::unique_ptr<LanguageNetwork> network;
  NetworkPrograms programs;
  Value logits;
};

Tensor ids_tensor(std::int64_t rows, const Ids& ids) {
  return Tensor::of<std::int32_t>({rows, std::ssize(ids) / rows}, ids);
}

// Returns row r, position `at` of a tensor [rows, time, width] as a list.
std::vector<double> position(const Tensor& t, std::int64_t r, std::int64_t at) {
  const std::int64_t time = t.sizes()[1], width = t.sizes()[2];
  std::vector<double> out;
  for (std::int64_t i = 0; i < width; ++i) out.push_back(t.at((r * time + at) * width + i));
  return out;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

const Ids kRows = {0, 3, 1, 4, 2, 2, 0, 1, 3, 0,   //
                   4, 4, 1, 0, 2, 3, 3, 1, 0, 2};  // two rows of ten tokens

BOOST_AUTO_TEST_SUITE(language_networks)

BOOST_AUTO_TEST_CASE(later_tokens_do_not_change_earlier_scores) {
  for (const NetworkKind kind : kKinds) {
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      MadeNetwork m(kind);
      Session session(m.g, {.seed = 3, .threads = 1, .verify = true});
      const Program logits = Program("logits").output("logits", m.logits);
      Ids changed = kRows;
      changed[6] = 4;
      const Tensor a = session.run(logits, {{"tokens", ids_tensor(2, kRows)}})["logits"];
      const Tensor b = session.run(logits, {{"tokens", ids_tensor(2, changed)}})["logits"];
      for (std::int64_t t = 0; t < 10; ++t) {
        const double change = distance(position(a, 0, t), position(b, 0, t));
        if (t < 6) BOOST_TEST(change == 0);
        if (t == 6) BOOST_TEST(change > 1e-4);  // at the changed token
        BOOST_TEST(distance(position(a, 1, t), position(b, 1, t)) ==
                   0);  // other rows do not change
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(token_by_token_scores_equal_the_scores_of_the_whole_sequence) {
  for (const NetworkKind kind : kKinds) {
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      MadeNetwork m(kind);
      Session session(m.g, {.seed = 3, .threads = 1, .verify = true, .poison = true});
      const Tensor whole = session.run(Program("logits").output("logits", m.logits),
                                       {{"tokens", ids_tensor(2, kRows)}})["logits"];
      for (int text = 0; text < 2; ++text) {  // the second text starts from a reset state
        std::int64_t read = 0;
        const auto step = [&](std::int64_t count) {
          Ids next;
          for (std::int64_t r = 0; r < 2; ++r) {
            for (std::int64_t t = read; t < read + count; ++t)
              next.push_back(kRows[static_cast<std::size_t>(r * 10 + t)]);
          }
          read += count;
          const Tensor logits =
              session.run(m.programs.step, {{"tokens", ids_tensor(2, next)}})["logits"];
          for (std::int64_t r = 0; r < 2; ++r) {
            std::vector<double> got;
            for (std::int64_t i = 0; i < 5; ++i) got.push_back(logits.at(r * 5 + i));
            BOOST_TEST(distance(got, position(whole, r, read - 1)) < 2e-5);
          }
        };
        step(4);  // four tokens at once, like a prompt
        while (read < 10) step(1);
        session.reset_caches();
      }
    }
  }
}

// The chain rule: the probability of a sequence is the product of conditional probabilities. The
// probabilities of all sequences of one length therefore sum to 1, and those of all sequences with
// a common prefix sum to the probability of that prefix.
BOOST_AUTO_TEST_CASE(the_probabilities_of_all_sequences_of_one_length_sum_to_one) {
  for (const NetworkKind kind : kKinds) {
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      MadeNetwork m(kind, 3);
      Session session(m.g, {.seed = 3, .threads = 1});
      Ids tokens, targets;
      for (std::int32_t i = 0; i < 27; ++i) {
        const std::int32_t a = i / 9, b = i / 3 % 3, c = i % 3;
        tokens.insert(tokens.end(), {1, a, b});  // token 1 comes first
        targets.insert(targets.end(), {a, b, c});
      }
      const Tensor losses = session.run(
          m.programs.score,
          {{"tokens", ids_tensor(27, tokens)}, {"targets", ids_tensor(27, targets)}})["losses"];
      double sum = 0, beginning = 0;
      for (std::int64_t i = 0; i < 27; ++i) {
        const double p = std::exp(-losses.at(3 * i) - losses.at(3 * i + 1) - losses.at(3 * i + 2));
        BOOST_TEST(p > 0);
        sum += p;
        if (i < 3) beginning += p;  // all sequences that begin with 0 0
      }
      BOOST_TEST(std::abs(sum - 1) < 2e-6);
      BOOST_TEST(std::abs(beginning - std::exp(-losses.at(0) - losses.at(1))) < 2e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
  for (const NetworkKind kind : kKinds) {
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      MadeNetwork m(kind, 5, 3);
      std::vector<Value> parameters;
      for (const Variable& v : m.g.parameters()) parameters.push_back(v);
      Ids targets = kRows;
      std::rotate(targets.begin(), targets.begin() + 1, targets.end());
      const GradientReport report = check_gradients(
          m.programs.loss, parameters,
          {.feeds = {{"tokens", ids_tensor(2, kRows)}, {"targets", ids_tensor(2, targets)}},
           .seed = 7,
           .max_elements = 12});
      BOOST_TEST(report.elements_checked > 20);
      BOOST_TEST_CONTEXT(report.worst) { BOOST_TEST(report.max_relative_error < 1e-8); }
    }
  }
}

// Truncated back-propagation through time: the losses of a text do not depend on how it is split.
BOOST_AUTO_TEST_CASE(chunks_with_carried_state_have_the_same_losses_as_the_whole_text) {
  for (const NetworkKind kind : kKinds) {
    if (kind == NetworkKind::transformer) continue;
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      MadeNetwork m(kind);
      const auto& network = dynamic_cast<const StatefulNetwork&>(*m.network);
      const CarriedLoss carried = carried_loss(network, 2);
      const Program piece = Program("piece").output("loss", carried.loss).update(carried.updates);
      Session session(m.g, {.seed = 3, .threads = 1, .verify = true});
      // Ten tokens per row. Each token predicts the next one, and the last token predicts the
      // first.
      const auto batch = [&](std::int64_t begin, std::int64_t end, bool targets) {
        Ids out;
        for (std::int64_t r = 0; r < 2; ++r) {
          for (std::int64_t t = begin; t < end; ++t)
            out.push_back(kRows[static_cast<std::size_t>(r * 10 + (t + (targets ? 1 : 0)) % 10)]);
        }
        return ids_tensor(2, out);
      };
      const double whole = session
                               .run(m.programs.evaluate, {{"tokens", batch(0, 10, false)},
                                                          {"targets", batch(0, 10, true)}})["loss"]
                               .at(0);
      for (int epoch = 0; epoch < 2; ++epoch) {  // the second epoch starts from a reset state
        double sum = 0;
        for (const auto& [begin, end] : std::vector<std::pair<int, int>>{{0, 3}, {3, 4}, {4, 10}}) {
          const Results r = session.run(
              piece, {{"stream.tokens", batch(begin, end, false)},
                      {"stream.targets", batch(begin, end, true)},
                      {"stream.fresh", Tensor::full(DType::boolean, {}, begin == 0 ? 1 : 0)}});
          sum += r["loss"].at(0) * (end - begin);
        }
        BOOST_TEST(std::abs(sum / 10 - whole) < 1e-6);
      }
      // No gradient flows into previous chunks: the carried state is a constant input of a chunk.
      for (const Variable& v : m.g.variables()) {
        if (v.info().kind == VariableKind::buffer)
          BOOST_CHECK_THROW(gradients(carried.loss, {v}), GradientError);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_width_uses_the_whole_parameter_budget) {
  constexpr std::int64_t kBudget = 50'000;
  for (const NetworkKind kind : kKinds) {
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      const auto parameters = [&](std::int64_t width) {
        Graph g;
        make_network(kind, Scope(g), {.vocab = 65, .width = width});
        return count_parameters(g);
      };
      const std::int64_t width = width_for_budget(kind, {.vocab = 65}, kBudget);
      BOOST_TEST(parameters(width) <= kBudget);
      BOOST_TEST(parameters(width + 1) > kBudget);
    }
  }
  // The preset nanogpt-cpu has 65 characters, 4 layers of width 128, a context of 64, and no
  // biases.
  BOOST_TEST(width_for_budget(NetworkKind::transformer, {.vocab = 65}, 804'096) == 32);
  BOOST_TEST(width_for_budget(NetworkKind::transformer, {.vocab = 65}, 804'095) == 31);
  check_error<ArgumentError>(
      [] { width_for_budget(NetworkKind::lstm, {.vocab = 65}, 100); },
      {"a budget of 100 parameters is too small: width 1 already needs 211"});
}

BOOST_AUTO_TEST_CASE(a_carried_state_needs_a_constant_number_of_rows) {
  MadeNetwork m(NetworkKind::gru);
  const auto& network = dynamic_cast<const StatefulNetwork&>(*m.network);
  Updates updates;
  const Value fresh = m.g.input("fresh", DType::boolean, {});
  check_error<ShapeError>(
      [&] { network.continue_text(m.g.find_input("tokens"), fresh, &updates); },
      {"carrying the state over requires a constant batch size, but the batch is batch"});
}

BOOST_AUTO_TEST_CASE(only_transformers_limit_the_length_of_a_text) {
  MadeNetwork m(NetworkKind::transformer);
  BOOST_TEST(m.network->max_length().value() == 24);
  Session session(m.g, {.threads = 1});
  const Tensor one = ids_tensor(1, {1});
  for (int i = 0; i < 24; ++i) session.run(m.programs.step, {{"tokens", one}});
  BOOST_CHECK_THROW(session.run(m.programs.step, {{"tokens", one}}), DataError);
  BOOST_TEST(!MadeNetwork(NetworkKind::lstm).network->max_length().has_value());
}

BOOST_AUTO_TEST_CASE(invalid_network_arguments_are_rejected) {
  Graph g;
  const Scope net(g, "net");
  check_error<ArgumentError>([&] { make_network(NetworkKind::averaging, net, {.width = 3}); },
                             {"a language model needs a vocabulary of at least 1, not 0"});
  check_error<ArgumentError>([&] { HmmNetwork(net, 5, 0); },
                             {"a hidden Markov model needs at least 1 state, not 0"});
  check_error<ArgumentError>([&] { WindowNetwork(net, 5, {.tokens = 0}); },
                             {"the window must have at least 1 token, not 0"});
  check_error<ArgumentError>([&] { ConvolutionNetwork(net, 5, {.kernel = 0}); },
                             {"the kernel must be at least 1, but is 0"});
  check_error<ArgumentError>(
      [&] {
        ConvolutionNetwork(net, 5, {.dilations = {1, 0}});
      },
      {"the dilation of layer 1 is 0; it must be at least 1"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
