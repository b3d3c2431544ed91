// Language models with subword tokenizers. They process and generate text in the same way as
// character models, and can be fine-tuned from Hugging Face folders.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>

#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(subword_gpt)
namespace {

const std::string kTiny =
    " --layers 1 --heads 2 --width 16 --context 16 --batch 4 --steps 4 --warmup 1 --lr 0.01"
    " --eval-every 2 --threads 1";
// Options for fine-tuning. The model sizes are determined by the given weights.
const std::string kShort =
    " --batch 4 --steps 4 --warmup 1 --lr 0.01 --eval-every 2 --eval-batches 2 --threads 1";

Outcome succeeds(const Outcome& outcome) {
  BOOST_TEST_CONTEXT(outcome.out << outcome.err) { BOOST_TEST(outcome.code == 0); }
  return outcome;
}

/// Returns the number that follows `name` in a text.
double number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  BOOST_TEST_CONTEXT(text) { BOOST_REQUIRE(at != std::string::npos); }
  return std::strtod(text.c_str() + at + name.size(), nullptr);
}

BOOST_AUTO_TEST_CASE(subword_models_are_trained_scored_and_used_for_generation) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  const Outcome trained =
      succeeds(weft("train gpt --tokenizer bpe --vocab 60" + text + kTiny + " --out " + model));
  BOOST_TEST(contains(trained.out, ", 60 pieces: "));
  BOOST_TEST(contains(trained.out, " pieces for training, "));
  BOOST_TEST(contains(trained.out, "x 16 pieces"));
  const LanguageModel loaded = load_model<LanguageModel>(model);
  BOOST_TEST(loaded.config.vocab == 60);
  BOOST_TEST(loaded.tokenizer.unit() == "pieces");
  const std::string whole = read_whole_file(weft.path("text.txt"));
  BOOST_TEST(loaded.tokenizer.decode(loaded.tokenizer.encode(whole)) == whole);

  const Outcome measured = succeeds(weft("evaluate " + model + text));
  BOOST_TEST(last_line(measured.out).starts_with("validation loss "));
  BOOST_TEST(
      number_after(measured.out, "bits_per_byte ") == number_after(trained.out, "bits      "),
      boost::test_tools::tolerance(1e-3));

  // Generated text contains spaces and line breaks. Streaming one id at a time gives the same text
  // as decoding all ids.
  const std::string ask =
      "generate " + model + " --prompt 'all work' --tokens 30 --seed 3 --threads 1";
  const Outcome shown = succeeds(weft(ask)), again = succeeds(weft(ask));
  BOOST_TEST(shown.out.starts_with("all work"));
  BOOST_TEST(shown.out == again.out);
  const Outcome ids = succeeds(weft(ask + " --ids"));
  std::vector<std::int64_t> written;
  const char* at = ids.out.c_str();
  for (char* end; *at != '\n'; at = end) written.push_back(std::strtol(at, &end, 10));
  BOOST_TEST(loaded.tokenizer.decode(written) + "\n" == shown.out);
  const Outcome without_prompt =
      succeeds(weft("generate " + model + " --tokens 2 --greedy --threads 1"));
  BOOST_TEST(without_prompt.out.starts_with("\n"));
  BOOST_TEST(!contains(succeeds(weft(ask + " --stop o")).out.substr(8), "oo"));

  // A continuation directly follows the prompt: "ja" + "ck" is scored as "jack", without a space.
  const Outcome scored =
      succeeds(weft("score " + model + " --prompt 'makes ja' --continuation 'ck a' --threads 1"));
  BOOST_TEST(contains(scored.out, "total "));
  BOOST_TEST(!scored.out.starts_with("\u2581"));

  succeeds(weft("quantize " + model + text + " --out " + weft.path("small.weft")));
  succeeds(weft("generate " + weft.path("small.weft") + " --prompt dull --tokens 3"));
  succeeds(weft("train gpt --from " + model + text + kShort + " --lora-rank 2 --out " +
                weft.path("lora.weft")));
  succeeds(weft("merge " + model + " --adapters " + weft.path("lora.lora.safetensors") + " --out " +
                weft.path("merged.weft")));
  succeeds(weft("evaluate " + weft.path("merged.weft") + text));
}

BOOST_AUTO_TEST_CASE(generation_stops_at_a_text_that_spans_pieces) {
  const Shell weft;
  const std::string model = weft.path("m.weft");
  succeeds(weft("train gpt --tokenizer bpe --vocab 60 --text " + weft.path("text.txt") + kTiny +
                " --out " + model));
  const std::string ask = "generate " + model + " --prompt all --tokens 60 --seed 5 --threads 1";
  const std::string all = succeeds(weft(ask)).out;
  // The stop text either ends within a piece or spans several pieces.
  const std::string stop = all.substr(20, 3);
  BOOST_REQUIRE(stop.find('\'') == std::string::npos);
  const std::string stopped = succeeds(weft(ask + " --stop '" + stop + "'")).out;
  BOOST_TEST(all.starts_with(stopped.substr(0, stopped.size() - 1)));
  BOOST_TEST(stopped.size() < all.size());
  BOOST_TEST(contains(stopped.substr(3), stop));
}

BOOST_AUTO_TEST_CASE(bits_per_byte_are_comparable_across_tokenizers) {
  const std::string text = "héllo wörld, hello world; hällo wörld! hello";
  for (const double fraction : {0.0, 0.25, 0.5, 0.9}) {
    const TextParts parts = split_text(text, fraction);
    BOOST_TEST(std::string(parts.train) + std::string(parts.validation) == text);
    TrainSettings settings;
    settings.validation_fraction = fraction;
    GptConfig config;
    config.layers = config.heads = 1;
    config.width = 4;
    config.context = 4;
    const CharacterTokenizer letters = CharacterTokenizer::from_text(text);
    config.vocab = letters.vocab_size();
    const LanguageModel model = build_language_model(config, letters, settings);
    const LanguageData data = read_text(model, text);
    BOOST_TEST(data.ids.train_size() == std::ssize(letters.encode(parts.train)));
    BOOST_TEST(data.ids.validation_size() == std::ssize(letters.encode(parts.validation)));
    BOOST_TEST(data.validation_bytes == std::ssize(parts.validation));
    if (data.validation_bytes == 0) continue;
    // A loss of ln 2 is one bit per character. The text has fewer characters than bytes.
    BOOST_TEST(
        data.bits_per_byte(std::numbers::ln2) == static_cast<double>(data.ids.validation_size()) /
                                                     static_cast<double>(data.validation_bytes),
        boost::test_tools::tolerance(1e-12));
    const auto pieces = SentencePieceTokenizer::train(
        std::vector<std::string>{text},
        {.vocab = 40, .character_coverage = 1, .keep_whitespace = true});
    config.vocab = pieces.vocab_size();
    BOOST_TEST(read_text(build_language_model(config, pieces, settings), text).validation_bytes ==
               data.validation_bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_vocabulary_smaller_than_requested_is_reported) {
  const Shell weft;
  const std::string start =
      "train gpt --text " + weft.path("text.txt") + kTiny + " --out " + weft.path("m.weft") + " ";
  const Outcome trained = succeeds(weft(start + "--tokenizer bpe"));
  BOOST_TEST(contains(trained.out, " pieces: the text is too small for the requested 4,000\n"));
  BOOST_TEST(!contains(succeeds(weft(start)).out, "requested"));
  check_error(weft(start + "--vocab 90"), 2, "it requires --tokenizer bpe");
  check_error(weft(start + "--tokenizer characters --vocab 90"), 2, "it requires --tokenizer bpe");
  check_error(weft(start + "--tokenizer bpe --vocab 16"), 2, "vocab 16 is too small: the text has");
}

/// Writes a newly initialised GPT-2 as a Hugging Face folder.
void write_folder(const std::string& path, std::int64_t vocab) {
  const nlohmann::json config = {{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}},
                                 {"n_embd", 16},         {"n_layer", 2},
                                 {"n_head", 2},          {"vocab_size", vocab},
                                 {"n_positions", 16}};
  Graph graph;
  const hf::Model model = hf::build_model(graph, config.dump(), hf::minimal_inputs(config.dump()));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 5}).initialise();
  hf::write_folder(path, model, graph, *store);
}

BOOST_AUTO_TEST_CASE(folders_with_a_tokenizer_are_fine_tuned) {
  const Shell weft;
  const std::string folder = weft.path("gpt2"), model = weft.path("m.weft");
  // The model has more ids than the tokenizer has pieces, as in published models with rounded-up
  // vocabulary sizes.
  write_folder(folder, 128);
  const auto tokenizer = SentencePieceTokenizer::train(
      std::vector<std::string>{read_whole_file(weft.path("text.txt"))}, {.vocab = 60});
  weft.write("gpt2/spiece.model", tokenizer.to_bytes());
  const std::string start = "train gpt --text " + weft.path("text.txt") + kShort;
  const Outcome trained = succeeds(weft(start + " --from " + folder + " --out " + model));
  BOOST_TEST(contains(trained.out, " parameters loaded\n"));
  const LanguageModel loaded = load_model<LanguageModel>(model);
  BOOST_TEST(loaded.config.vocab == 128);
  BOOST_TEST(loaded.tokenizer.bytes() == tokenizer.to_bytes());
  // Five special ids have no text either: padding, unknown, [CLS], [SEP], [MASK].
  BOOST_TEST(ids_without_text(loaded).size() == 128U - 60 + 5);
  // Ids without text are never generated.
  succeeds(weft("generate " + model + " --prompt work --tokens 200 --temperature 50"));
  succeeds(weft("evaluate " + model + " --text " + weft.path("text.txt")));

  const Outcome adapted =
      succeeds(weft(start + " --from " + folder + " --lora-rank 2 --out " + weft.path("a.weft")));
  BOOST_TEST(contains(adapted.out, "adapters  rank 2"));
  succeeds(weft("train gpt --resume " + weft.path("a.weft") + " --text " + weft.path("text.txt")));
}

BOOST_AUTO_TEST_CASE(folders_with_gpt2_tokenizer_files_are_fine_tuned) {
  const Shell weft;
  const std::string folder = weft.path("gpt2"), model = weft.path("m.weft");
  write_folder(folder, 257);
  nlohmann::json vocab;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string piece;
    append_utf8(piece, byte_characters()[byte]);
    vocab[piece] = byte;
  }
  vocab["th"] = 256;
  weft.write("gpt2/vocab.json", vocab.dump());
  weft.write("gpt2/merges.txt", "#version: 0.2\nt h\n");
  const std::string text = " --text " + weft.path("text.txt");
  succeeds(weft("train gpt" + text + kShort + " --from " + folder + " --out " + model));
  const LanguageModel loaded = load_model<LanguageModel>(model);
  BOOST_TEST(loaded.tokenizer.type() == "weft.tokenizer.subword");
  const std::string whole = read_whole_file(weft.path("text.txt"));
  BOOST_TEST(loaded.tokenizer.decode(loaded.tokenizer.encode(whole)) == whole);
  succeeds(weft("generate " + model + " --prompt 'the é' --tokens 20"));
  const Outcome judged = succeeds(weft("evaluate " + model + text));
  BOOST_TEST(contains(judged.out, "bits_per_byte"));
}

BOOST_AUTO_TEST_CASE(errors_for_folders_with_unreadable_tokenizers_suggest_a_remedy) {
  const Shell weft;
  const std::string folder = weft.path("gpt2"), model = weft.path("m.weft");
  write_folder(folder, 90);
  weft.write("gpt2/vocab.json", "{}");
  weft.write("gpt2/merges.txt", "#version: 0.2\n");
  const std::string start = "train gpt --text " + weft.path("text.txt") + kShort + " --from " +
                            folder + " --out " + model;
  const Outcome refused = weft(start);
  check_error(refused, 1, folder + ": vocab.json has no pieces");
  BOOST_TEST(contains(refused.err, "--tokenizer bpe, which learns pieces from the text"));
  // The suggested options work and load all parameters that do not depend on the vocabulary.
  const Outcome trained = succeeds(weft(start + " --tokenizer bpe --vocab 65"));
  BOOST_TEST(contains(trained.out, "; 1 new: transformer.wte.weight"));
  BOOST_TEST(load_model<LanguageModel>(model).config.vocab == 65);
  succeeds(weft(start + " --tokenizer characters"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
