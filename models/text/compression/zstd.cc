#include "weft/models/text/compression/zstd.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstdint>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr int kMaxWindowLog = 27;

class ZstdDecompressor final : public Decompressor {
 public:
  explicit ZstdDecompressor(std::string name)
      : name_(std::move(name)), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr ||
        ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog)))
      throw StateError("zstd cannot be initialised");
  }

  Step step(const char* in, std::size_t in_bytes, char* out, std::size_t out_bytes) override {
    if (ended_ && in_bytes == 0) return {};
    ZSTD_inBuffer input{in, in_bytes, 0};
    ZSTD_outBuffer output{out, out_bytes, 0};
    const std::size_t state = ZSTD_decompressStream(context_.get(), &output, &input);
    taken_ += input.pos;
    if (ZSTD_isError(state)) fail(ZSTD_getErrorName(state));
    ended_ = state == 0;
    return {input.pos, output.pos};
  }

  void finish() override {
    if (!ended_) fail("unexpected end of file");
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  [[noreturn]] void fail(std::string_view what) const {
    throw FormatError(fmt::format("{}: {} at byte {} of the zstd file", name_, what, taken_));
  }

  std::string name_;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool ended_ = false;  // true at the end of a frame
  std::uint64_t taken_ = 0;
};

}  // namespace

bool is_zstd(std::string_view bytes) {
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return true;
  // Skippable frames are written before other frames by parallel compressors.
  return bytes.size() >= 4 && (bytes[0] & 0xF0) == 0x50 && bytes.substr(1, 3) == "\x2a\x4d\x18";
}

std::unique_ptr<Decompressor> zstd_decompressor(std::string name) {
  return std::make_unique<ZstdDecompressor>(std::move(name));
}

}  // namespace weft
