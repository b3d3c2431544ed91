#include "weft/models/text/corpus/byte_stream.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "weft/models/text/compression/gzip.h"
#include "weft/models/text/compression/zstd.h"

namespace weft {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kMagic = 4;  // bytes that identify the format

}  // namespace

ByteStream::ByteStream(const std::string& path)
    : file_(path, {.max_bytes = std::numeric_limits<std::uint64_t>::max()}) {
  while (block_.size() < kMagic && fill()) {
  }
  if (is_gzip(block_)) {
    decompressor_ = gzip_decompressor(path);
  } else if (is_zstd(block_)) {
    decompressor_ = zstd_decompressor(path);
  }
}

bool ByteStream::fill() {
  block_.erase(0, used_);
  used_ = 0;
  const std::size_t there = block_.size();
  block_.resize(there + kBlock);
  const std::size_t got = file_.read(block_.data() + there, kBlock);
  block_.resize(there + got);
  read_ += got;
  return got > 0;
}

std::size_t ByteStream::read(char* to, std::size_t most) {
  return decompressor_ ? decompress(to, most) : read_plain(to, most);
}

std::size_t ByteStream::read_plain(char* to, std::size_t most) {
  if (used_ == block_.size() && !fill()) return 0;
  const std::size_t size = std::min(most, block_.size() - used_);
  std::memcpy(to, block_.data() + used_, size);
  used_ += size;
  return size;
}

std::size_t ByteStream::decompress(char* to, std::size_t most) {
  for (;;) {
    const bool more = used_ < block_.size() || fill();
    const Decompressor::Step step =
        decompressor_->step(block_.data() + used_, block_.size() - used_, to, most);
    used_ += step.taken;
    if (step.made > 0) return step.made;
    if (more || step.taken > 0) continue;
    decompressor_->finish();
    return 0;
  }
}

}  // namespace weft
