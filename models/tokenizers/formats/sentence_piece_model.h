// SentencePiece model files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/normalizers/text_preparation.h"
#include "weft/models/tokenizers/special_ids.h"

namespace WEFT_API weft {

/// The contents of a SentencePiece model file, as far as encoding and decoding need them.
struct SentencePieceModel {
  enum class Algorithm : std::uint8_t { unigram, byte_pairs, words, characters };
  enum class Kind : std::uint8_t {
    normal,
    unknown,
    control,
    symbol,  // user-defined: one id wherever it occurs in a text
    unused,  // an intermediate merge that is never in the result
    byte     // a single byte, such as "<0x0A>"
  };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::normal;
  };
  /// The normalisation of a text before segmentation, or of the decoded text.
  struct Normalizer {
    std::string name;
    std::string compiled_map = {};  // see PrecompiledMap; empty = characters are unchanged
    bool dummy_prefix = true;       // insert a space in front of every text
    bool remove_extra_whitespace = true;
    bool escape_whitespace = true;  // replace spaces with U+2581
  };
  /// The texts of the special pieces.
  struct Names {
    std::string pad = "<pad>", bos = "<s>", eos = "</s>";
  };
  /// A piece that is not in the model's list.
  struct Added {
    std::string text;
    bool special = true;  // omitted from decoded text
    bool lstrip = false;  // absorbs preceding whitespace
    bool rstrip = false;  // absorbs following whitespace
  };
  /// Ids that differ from the piece indices, as in many published models: shifted, or with pieces
  /// added.
  struct Layout {
    /// By id: the index of the model's piece, or -1 - n for added[n]. Empty: ids are piece indices.
    std::vector<std::int32_t> ids;
    std::vector<Added> added;
    /// The special ids, used if `ids` is not empty.
    SpecialIds special;
    /// If true, the text after an added piece is encoded like the beginning of a text, with a space
    /// in front (the "legacy" behaviour of T5's and LLaMA's tokenizers); if false, as a
    /// continuation.
    bool restarts = true;
    /// Text changes before normalisation.
    TextPreparation preparation = {};
    /// The model for target texts of an encoder-decoder, which must have the same number of ids;
    /// null if it is the same model. A target model has no target itself.
    std::shared_ptr<const SentencePieceModel> target = {};
  };

  Algorithm algorithm = Algorithm::byte_pairs;
  std::vector<Piece> pieces;
  Names names;
  std::string unknown_surface = " \xE2\x81\x87 ";  // the decoded text of the unknown id
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  Normalizer normalizer;
  std::shared_ptr<const Normalizer> denormalizer = nullptr;  // null = none
  Layout layout;
  /// True if Weft's own trainer made the model. In that case, tabs and line breaks are treated as
  /// spaces or kept, depending on the normalizer; texts must be UTF-8; and the unknown id decodes
  /// to U+2047 without spaces.
  bool own = false;
  /// The file that the model was read from, without the layout. It preserves fields that are not
  /// represented above.
  std::string file;

  /// Parses a model file. Throws FormatError with the reason for invalid or unsupported files.
  static SentencePieceModel parse(std::string_view bytes);
  /// Inverse of parse(). Based on `file` if it is not empty, else on the other members.
  std::string to_bytes() const;

  /// Returns the index of the unknown piece, or -1.
  std::int32_t unknown() const;
};

}  // namespace weft
