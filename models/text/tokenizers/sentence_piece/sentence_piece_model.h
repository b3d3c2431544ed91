// Reads and writes SentencePiece model files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/normalizers/text_preparation.h"

namespace WEFT_API weft {

/// The contents of a SentencePiece model file that are relevant to encoding and decoding.
struct SentencePieceModel {
  enum class Algorithm : std::uint8_t { unigram, byte_pairs, words, characters };
  enum class Kind : std::uint8_t {
    normal,
    unknown,
    control,
    symbol,  // user-defined: always one id, wherever it occurs in a text
    unused,  // an intermediate merge that never occurs in the result
    byte     // a single byte, such as "<0x0A>"
  };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::normal;
  };
  /// The normalisation that is applied to a text before segmentation, or to decoded text.
  struct Normalizer {
    std::string name;
    std::string compiled_map = {};  // see PrecompiledMap; if empty, characters are unchanged
    bool dummy_prefix = true;       // insert a space before every text
    bool remove_extra_whitespace = true;
    bool escape_whitespace = true;  // replace spaces with U+2581
  };
  /// The texts of the special pieces.
  struct Names {
    std::string pad = "<pad>", bos = "<s>", eos = "</s>";
  };
  /// A piece that a layout adds to the pieces of the model.
  struct Added {
    std::string text;
    bool special = true;  // omitted from decoded text
    bool lstrip = false;  // absorbs preceding whitespace
    bool rstrip = false;  // absorbs following whitespace
  };
  /// A mapping of ids to pieces for models whose ids differ from their piece indices, because ids
  /// are shifted or pieces are added. Many published models have such a layout.
  struct Layout {
    /// For each id, the index of the model's piece, or -1 - n for added[n]. If empty, ids equal
    /// piece indices.
    std::vector<std::int32_t> ids;
    std::vector<Added> added;
    /// The special ids. Used only if `ids` is not empty.
    SpecialIds special;
    /// If true, text after an added piece is encoded like the beginning of a text, with a space
    /// before it (the "legacy" behaviour of T5's and LLaMA's tokenizers). If false, it is encoded
    /// as a continuation.
    bool restarts = true;
    /// Text changes that are applied before normalisation.
    TextPreparation preparation = {};
    /// The model for the target texts of an encoder-decoder, which must have the same number of
    /// ids. Null if it is the same model. A target model must not have a target model itself.
    std::shared_ptr<const SentencePieceModel> target = {};
  };

  Algorithm algorithm = Algorithm::byte_pairs;
  std::vector<Piece> pieces;
  Names names;
  std::string unknown_surface = " \xE2\x81\x87 ";  // text to which the unknown id is decoded
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  Normalizer normalizer;
  std::shared_ptr<const Normalizer> denormalizer = nullptr;  // null = none
  Layout layout;
  /// True if the model was created by Weft's own trainer. In such models, tabs and line breaks are
  /// treated as spaces or kept, depending on the normalizer; texts must be UTF-8; and the unknown
  /// id is decoded to U+2047 without spaces.
  bool own = false;
  /// The contents of the file from which the model was read, without the layout. They preserve
  /// fields that have no corresponding member.
  std::string file;

  /// Parses a model file. Throws a FormatError with the reason if the file is invalid or
  /// unsupported.
  static SentencePieceModel parse(std::string_view bytes);
  /// Inverse of parse(). The result is based on `file` if it is not empty, else on the other
  /// members.
  std::string to_bytes() const;

  /// Returns the index of the unknown piece, or -1 if there is none.
  std::int32_t unknown() const;
};

}  // namespace weft
