// Compares character-level language models with equal numbers of parameters: n-grams, the average
// of the preceding characters, a hidden Markov model, a fixed window, RNN, GRU, LSTM, convolutions
// and a transformer.
//
//   zoo_language_models TEXT [--steps N] [--parameters N] [--only MODEL,MODEL...] [--lr F]
//                       [--threads N] [--sample N] [--json FILE]
//
// All networks are trained on the first nine tenths of the text with the same numbers of steps and
// characters, and evaluated on the last tenth. MODEL is "ngram" or a network from
// models/language/network_kinds.h. A "+" after the name of a network means that its state is
// carried from batch to batch.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/zoo/compare/measure_ngram.h"
#include "weft/models/zoo/data/exit_code.h"

using namespace weft;
using namespace weft::zoo;

namespace {

constexpr const char* kUsage =
    "usage: zoo_language_models TEXT [--steps N] [--parameters N] [--only MODEL,MODEL...] [--lr F] "
    "[--threads N] [--sample N] [--json FILE]\n";

struct Arguments {
  std::string text, json;
  std::vector<std::string> models = {"ngram", "averaging", "hmm",   "window",      "rnn",
                                     "gru",   "lstm",      "lstm+", "convolution", "transformer"};
  std::int64_t steps = 0, parameters = 0, sample = 200;
  double lr = 0;
  int threads = 0;
};

/// Splits a list at its commas.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char c : list) c == ',' ? parts.emplace_back() : (parts.back() += c, parts.back());
  return parts;
}

/// Parses the command line. Returns false if it is invalid.
bool read(int argc, char** argv, Arguments& out) {
  if (argc < 2 || argc % 2 != 0) return false;
  out.text = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string_view name = argv[i], value = argv[i + 1];
    char* end = nullptr;
    const double number = std::strtod(argv[i + 1], &end);
    const bool positive = *end == 0 && number > 0;
    if (name == "--only") {
      out.models = parts_of(value);
    } else if (name == "--json") {
      out.json = value;
    } else if (name == "--steps" && positive) {
      out.steps = static_cast<std::int64_t>(number);
    } else if (name == "--parameters" && positive) {
      out.parameters = static_cast<std::int64_t>(number);
    } else if (name == "--sample" && positive) {
      out.sample = static_cast<std::int64_t>(number);
    } else if (name == "--threads" && positive) {
      out.threads = static_cast<int>(number);
    } else if (name == "--lr" && positive) {
      out.lr = number;
    } else {
      return false;
    }
  }
  return true;
}

void run(const Arguments& arguments) {
  // 1. Data: the characters of a text. The last tenth is held out.
  const std::string text = read_utf8_file(arguments.text);
  const CharacterTokenizer letters = CharacterTokenizer::from_text(text);
  const TextParts parts = split_text(text, 0.1);
  Comparison common;
  common.train = letters.encode(parts.train);
  common.held_out = held_out(std::string(parts.validation), letters.encode(parts.validation));
  common.vocab = letters.vocab_size();
  common.contexts = {16, 64, 256, 1024};
  common.prompt = letters.encode(text.substr(0, text.find('\n') + 1));
  common.sample = arguments.sample;
  common.threads = arguments.threads;

  // 2. By default, the numbers of parameters and steps are the same as in the preset nanogpt-cpu.
  const Preset<GptConfig>& preset = find_preset(gpt_presets(), "nanogpt-cpu");
  GptConfig transformer = preset.model;
  transformer.vocab = common.vocab;
  common.window = transformer.context;
  common.parameters =
      arguments.parameters > 0 ? arguments.parameters : transformer.parameter_count();
  common.settings = preset.training;
  common.settings.eval_every = common.settings.save_every = 0;
  if (arguments.steps > 0) {
    common.settings.steps = arguments.steps;
    common.settings.warmup = arguments.steps / 20;
  }
  fmt::print(
      "{} characters for training, {} held out ({} words); at most {} parameters; {} steps "
      "of {} x {} characters\n",
      common.train.size(), common.held_out.ids.size(), common.held_out.words, common.parameters,
      common.settings.steps, common.settings.batch, common.window);

  // 3. Trains and evaluates each model in turn.
  std::vector<LanguageRow> rows;
  for (std::string name : arguments.models) {
    const bool carry = name.ends_with('+');
    if (carry) name.pop_back();
    rows.push_back(name == "ngram" ? measure_ngram(common)
                                   : measure_network(parse_choice<NetworkKind>(name), common, carry,
                                                     arguments.lr));
    LanguageRow& row = rows.back();
    row.sample = letters.decode(row.ids);
    fmt::print("\n{}: {:.4f} bits per character, {:.0f} characters/s\n{}\n", row.name,
               bits_per_character(row.windows), row.train_tokens_per_second, row.sample);
    std::fflush(stdout);
  }
  fmt::print("\n{}", markdown(rows, common.held_out));
  if (arguments.json.empty()) return;
  std::ofstream out(arguments.json);
  out << json(rows, common.held_out);
  if (!out.flush()) throw IoError(arguments.json + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read(argc, argv, arguments)) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  return exit_code("language_models", [&] { run(arguments); });
}
