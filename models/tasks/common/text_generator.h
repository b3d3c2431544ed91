// Text in, text out: what all models that write have in common, whichever family they are of.
//
//   const LoadedModel opened = load_any_model("folder-or-file.weft");
//   Session session(*opened.model->graph, opened.model->store);
//   const auto writer = opened.task.text_generator(session, *opened.model);
//   for (const WrittenText& written : writer->write({"Once upon a time"})) use(written.text);
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/choice.h"
#include "weft/models/generate/score.h"
#include "weft/models/generate/search.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace weft {

/// Why a text ends.
enum class Finish : std::uint8_t {
  end,        // the model wrote an id that ends texts
  stop,       // a text or ids to stop at
  length,     // it has all the ids that it may have
  cancelled,  // who listened had enough
};
inline constexpr std::array<std::string_view, 4> kFinishNames = {"end", "stop", "length",
                                                                 "cancelled"};
inline ChoiceNames choice_names(Finish) { return {"finish", kFinishNames}; }

/// What a model wrote.
struct WrittenText {
  std::string text;  // without its prompt; bytes of a character may be missing at the end
  TokenIds ids;      // the same; with the id that ended it
  Finish finish = Finish::length;
  std::optional<double> score = {};  // of beams: SearchResult::scores
};

struct WriteOptions {
  /// Changes what the model's own settings say of a prompt: lengths, beams, drawing.
  std::function<void(GenerationOptions&)> change = {};
  /// A text ends behind one of these. Not with beams.
  std::vector<std::string> stop = {};
  /// What the output of an encoder-decoder begins with, instead of what its settings say.
  TokenIds start = {};
  std::int64_t batch = 32;  // prompts that are continued together
};

/// Told the new text of every id as soon as it is certain, never half a character (so that it may
/// be empty), and in the end what was held back; false ends the text. Of several results per
/// prompt, `row` says which (prompt * results + result). With beams the whole text comes at the
/// end.
using OnText = std::function<bool(std::size_t row, std::string_view text)>;

/// A model that writes over a session. A kind of models says how it reads texts and generates ids;
/// what is done with texts is here.
class TextGenerator {
 public:
  virtual ~TextGenerator() = default;
  TextGenerator() = default;
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  /// Throws FormatError where there is none.
  virtual const Tokenizer& tokenizer() const = 0;
  /// Whether texts go on from the prompt, as decoders' do; else they answer it.
  virtual bool continues() const = 0;
  /// Most ids of a prompt.
  virtual std::int64_t context() const = 0;
  /// A prompt as ids, with those that the model wants around it. Throws as Tokenizer::encode;
  /// ArgumentError where nothing is left of it.
  virtual TokenIds read(std::string_view text) const = 0;
  /// A text as the model is to write it; those of encoder-decoders may have a tokenizer of their
  /// own (Tokenizer::targets()). Throws as read().
  virtual TokenIds read_output(std::string_view text) const { return read(text); }
  /// What is generated for a prompt where nobody says otherwise, within the model's positions.
  virtual GenerationOptions usual(const TokenIds& prompt) const = 0;
  /// What outputs of an encoder-decoder begin with; empty where it is not stated.
  virtual TokenIds start() const { return {}; }
  /// Sequences with their prompt, or with what they begin with, `start` (of decoders empty).
  virtual SearchResult generate(const std::vector<TokenIds>& prompts, const TokenIds& start,
                                const GenerationOptions& options, const OnToken& on_token) = 0;
  /// How likely continuations[i] is behind prompts[i], or as output for it behind `start`.
  virtual std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                               const std::vector<TokenIds>& continuations,
                                               const TokenIds& start) = 0;

  /// Continues or answers every text: as many results for each as the options say, the best first,
  /// in the order of the texts. Those of like length are one batch, and each is as if it were
  /// alone. Throws ArgumentError for a prompt that leaves nothing to generate within context()
  /// (unless the window slides), and as read() and search().
  std::vector<WrittenText> write(const std::vector<std::string>& texts,
                                 const WriteOptions& options = {}, const OnText& on_text = {});
  /// The same for ids, as read() gives them.
  std::vector<WrittenText> write_ids(const std::vector<TokenIds>& prompts,
                                     const WriteOptions& options = {}, const OnText& on_text = {});
  /// The options that write() takes for `prompt`. Throws as GenerationOptions::check().
  GenerationOptions options_for(const TokenIds& prompt, const WriteOptions& options) const;

 private:
  struct Batch;
  void write_batch(const Batch& batch, const WriteOptions& options, const OnText& on_text,
                   std::vector<std::vector<WrittenText>>& written);
};

}  // namespace weft
