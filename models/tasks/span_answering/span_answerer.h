// Extractive question answering: an encoder that finds the text span that answers a question.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// Window and answer lengths, stored in model files. AnswerOptions override them.
struct SpanReading {
  std::int64_t window = 384, stride = 128;
  std::int64_t answer_tokens = 30;

  /// Throws an ArgumentError that names the field, its value and the allowed values.
  void check() const;
  /// Returns all fields with their help texts.
  static const FieldList<SpanReading>& fields();
  friend bool operator==(const SpanReading&, const SpanReading&) = default;
};

/// An encoder for "[CLS] question [SEP] context [SEP]", followed by a linear layer with two logits
/// per token, for the start and the end of the answer (BERT, Devlin et al. 2019, section 4.2). If
/// the first token is predicted, the context does not contain the answer (section 4.3). Encoder
/// parameters are named as in encoder.h; the linear layer is "span". Programs have the inputs
/// "tokens" i32 [batch, seq], "mask" i32 [batch, seq] (1 = token) and, if the encoder has token
/// types, "token_types" i32 [batch, seq]:
///   train   one complete training step; also has the inputs "start_positions" and "end_positions"
///           i32 [batch]: the first and last token of the answer, or 0 if the row does not contain
///           the answer
///   answer  outputs "start" and "end" f32 [batch, seq]: logits, without dropout
/// Models from folders have only "answer".
struct SpanAnswerer : ModelKind<SpanAnswerer, EncoderModel> {
  SpanReading spans;  // window settings used in training

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
};

/// Builds a new model. It has no variables yet and is not trainable. The tokenizer determines the
/// special ids around texts. Throws ArgumentError if `config` does not match `tokenizer`. Also
/// throws the same exceptions as spans.check().
SpanAnswerer build_span_answerer(const EncoderConfig& config, const Tokenizer& tokenizer,
                                 const SpanReading& spans, const TrainSettings& settings);

/// Returns the model in a Hugging Face folder if its class is an encoder ...ForQuestionAnswering,
/// or null if the folder contains another class. Throws the same exceptions as read_folder_encoder.
std::unique_ptr<SpanAnswerer> span_answerer_of(const hf::Folder& folder,
                                               const FolderTokenizer& text);

/// Returns the answers to every question, in question order. Answers are sorted by score, best
/// first. The score of a span is the sum of its start and end logits; all windows of the context
/// are searched. If options.no_answer is empty, there is at least one answer unless the context has
/// no tokens. If it is set, the result for a question without an answer is a single Answer with
/// `none` set. Windows of similar length are batched together. `session` must run the model's graph
/// with its store. Throws TextError if a question leaves no room for its context in a window, or if
/// a text is not valid UTF-8. Throws FormatError if the model does not answer questions. weft
/// answer prints the result.
std::vector<std::vector<Answer>> answer(Session& session, const TrainedModel& model,
                                        const std::vector<Question>& questions,
                                        const AnswerOptions& options = {});

}  // namespace weft
