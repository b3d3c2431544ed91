// SentencePiece's model files.
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

/// What a model file of SentencePiece says, as far as it matters to who encodes and decodes.
struct SentencePieceModel {
  enum class Algorithm : std::uint8_t { unigram, byte_pairs, words, characters };
  enum class Kind : std::uint8_t {
    normal,
    unknown,
    control,
    symbol,  // the user's: one id wherever it stands in a text
    unused,  // a step on the way to others: no text becomes it
    byte     // "<0x0A>"
  };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::normal;
  };
  /// How a text is changed before it is cut, or after it has been put together.
  struct Normalizer {
    std::string name;
    std::string compiled_map = {};  // see PrecompiledMap; empty = characters stay
    bool dummy_prefix = true;       // a blank in front of every text
    bool remove_extra_whitespace = true;
    bool escape_whitespace = true;  // blanks become U+2581
  };
  /// What people call the special pieces.
  struct Names {
    std::string pad = "<pad>", bos = "<s>", eos = "</s>";
  };
  /// A piece that is not in the model's list.
  struct Added {
    std::string text;
    bool special = true;  // left out of what is decoded
    bool lstrip = false;  // takes blanks in front along
    bool rstrip = false;  // takes blanks behind along
  };
  /// Ids that a model's users made of its own: ids shifted, and others added.
  struct Layout {
    /// By id: the piece of the model, or -1 - n for added[n]. Empty: ids are the model's.
    std::vector<std::int32_t> ids;
    std::vector<Added> added;
    /// The special ids, where they are not those of the model.
    SpecialIds special;
    /// What follows an added piece begins as a text does, with a blank in front (the "legacy"
    /// behaviour of T5's and LLaMA's tokenizers); else it goes on.
    bool restarts = true;
    /// How texts are changed before the model sees them.
    TextPreparation preparation = {};
    /// The model of texts that an encoder-decoder writes, with a layout of as many ids; null: this
    /// one. It has none itself.
    std::shared_ptr<const SentencePieceModel> target = {};
  };

  Algorithm algorithm = Algorithm::byte_pairs;
  std::vector<Piece> pieces;
  Names names;
  std::string unknown_surface = " \xE2\x81\x87 ";  // what an unknown id becomes
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  Normalizer normalizer;
  std::shared_ptr<const Normalizer> denormalizer = nullptr;  // null = none
  Layout layout;
  /// Made by Weft's own trainer: tabs and line breaks are blanks or stay, as the normalizer says;
  /// texts must be UTF-8; an unknown id becomes U+2047 alone.
  bool own = false;
  /// The file that it was read from, but for the layout: what is not needed here is not lost.
  std::string file;

  /// Reads a file. Throws FormatError that says what is wrong or not supported.
  static SentencePieceModel parse(std::string_view bytes);
  /// The inverse of parse(): `file`, where there is one, else one of what stands above.
  std::string to_bytes() const;

  /// Place of the piece for what is unknown.
  std::int32_t unknown() const;
};

}  // namespace weft
