// An encoder that finds the part of a text which answers a question.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/train/settings.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// How files say that texts are read, where AnswerOptions do not.
struct SpanReading {
  std::int64_t window = 384, stride = 128;
  std::int64_t answer_tokens = 30;

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<SpanReading>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field.
  static SpanReading from_json(std::string_view json);
  friend bool operator==(const SpanReading&, const SpanReading&) = default;
};

/// One encoder over "[CLS] question [SEP] context [SEP]" and a linear layer that gives every token
/// a number as the answer's begin and one as its end (BERT, Devlin et al. 2019, section 4.2). The
/// first token stands for "the context does not say" (section 4.3). Parameters are named as in
/// encoder.h; the new one is "span". Programs over inputs "tokens" i32 [batch, seq], "mask" i32
/// [batch, seq] (1 = token) and, where the encoder tells texts apart, "token_types" i32 [batch,
/// seq]:
///   train   one whole training step; also needs "start_positions" and "end_positions" i32 [batch]:
///           the answer's first and last token, 0 where the row does not have it
///   answer  "start" and "end" f32 [batch, seq]: logits, without dropout
/// Of a folder there is "answer" only.
struct SpanAnswerer : ModelKind<SpanAnswerer> {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;  // none: without token types
  SpanReading spans;                   // of the texts that it was trained on

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
};

/// A new model that cannot be trained yet, its variables not made; texts are read as its tokenizer
/// says. Throws ArgumentError where config and tokenizer do not fit, and as spans.check().
SpanAnswerer build_span_answerer(const EncoderConfig& config, const Tokenizer& tokenizer,
                                 const SpanReading& spans, const TrainSettings& settings);

/// The model in a folder of the library (...ForQuestionAnswering over an encoder). Null where it
/// holds another class. Throws as read_folder_encoder.
std::unique_ptr<SpanAnswerer> span_answerer_of(const hf::Folder& folder,
                                               const FolderTokenizer& text);

/// The model as a folder of the library has it.
FolderModel folder_model_of(const SpanAnswerer& model);

/// Answers of questions, in their order, the best first: parts of the context whose logits of begin
/// and end have the greatest sum over all windows onto it. Without options.no_answer there is at
/// least one, where the context has a token; with it, Answer::none stands alone. Windows are read
/// in batches of like length. `session` runs the model's graph over its store. Throws TextError for
/// a question that leaves a window no room for its context, and for invalid UTF-8.
std::vector<std::vector<Answer>> answer(Session& session, const SpanAnswerer& model,
                                        std::span<const Question> questions,
                                        const AnswerOptions& options = {});

}  // namespace weft
