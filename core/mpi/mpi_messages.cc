#include "weft/core/mpi/mpi_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t kKiB = 1024;
// These sizes are below the limits for eager sends, which are btl_tcp_eager_limit in Open MPI and
// UCX_TCP_TX_SEG_SIZE in the UCX library used by MPICH.
#ifdef MPICH_VERSION
constexpr std::size_t kEagerBytes = 8 * kKiB;
#else
constexpr std::size_t kEagerBytes = 63 * kKiB;
#endif

bool is_truncation(int code) {
  int kind = 0;
  MPI_Error_class(code, &kind);
  return kind == MPI_ERR_TRUNCATE;
}

}  // namespace

bool mpi_ok(Transport& self, int code, std::string_view what) {
  if (code == MPI_SUCCESS) return true;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  self.poison(fmt::format("{}: {} failed: {}", describe_rank(self, self.rank()), what,
                          std::string_view(text.data(), static_cast<std::size_t>(size))));
  return false;
}

MpiMessages::MpiMessages(MPI_Comm comm, Transport& self)
    : comm_(comm), self_(self), counts_(static_cast<std::size_t>(self.size())) {
  constexpr FlowLimits near{8192 * kKiB, 16384 * kKiB, 16384 * kKiB},
      far{kEagerBytes, 512 * kKiB, 2048 * kKiB};
  for (int r = 0; r < self.size(); ++r)
    limits_.push_back(self.host(r) == self.host(self.rank()) ? near : far);
}

bool MpiMessages::start(const MpiMessage& m) {
  // The last piece is always shorter than a full piece (it may be empty), so that both sides
  // recognise the end of a message.
  m.transfer->pieces = m.bytes / limits_of(m.other).piece + 1;
  Line& line = lines_[{m.send, m.other, m.channel}];
  line.waiting.push_back(m);
  return begin_next(line);
}

bool MpiMessages::begin_next(Line& line) {
  while (!line.waiting.empty()) {
    const MpiMessage& next = line.waiting.front();
    const FlowLimits& limits = limits_of(next.other);
    if (line.bytes >= (next.send ? limits.sends : limits.receives)) break;
    if (next.received != nullptr && !next.received->over) break;
    if (!begin_piece(line)) return false;
  }
  return true;
}

bool MpiMessages::begin_next() {
  for (auto it = lines_.begin(); it != lines_.end();) {
    Line& line = it->second;
    if (!begin_next(line)) return false;
    it = line.pieces == 0 && line.waiting.empty() ? lines_.erase(it) : std::next(it);
  }
  return true;
}

bool MpiMessages::begin_piece(Line& line) {
  const MpiMessage& m = line.waiting.front();
  const std::size_t most = limits_of(m.other).piece, bytes = std::min(most, m.bytes - line.at);
  const int count = static_cast<int>(bytes);
  std::byte* const data = m.data + line.at;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = m.send ? MPI_Isend(data, count, MPI_BYTE, m.other, m.channel, comm_, &request)
                          : MPI_Irecv(data, count, MPI_BYTE, m.other, m.channel, comm_, &request);
  if (!mpi_ok(self_, code, m.send ? "a send" : "a receive")) return false;
  if (m.send) ++counts_[static_cast<std::size_t>(m.other)].sent;
  requests_.push_back(request);
  pieces_.push_back({m.transfer, m.send, m.other, m.channel, line.at, bytes, m.bytes});
  ++line.pieces;
  line.bytes += bytes;
  line.at += bytes;
  if (bytes < most) {
    line.waiting.pop_front();
    line.at = 0;
  }
  return true;
}

std::vector<std::shared_ptr<MpiTransfer>> MpiMessages::finish(bool& any) {
  std::vector<std::shared_ptr<MpiTransfer>> over;
  any = false;
  if (requests_.empty()) return over;
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int finished = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &finished,
                                indices_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < finished; ++i)
      check_finished(i, statuses_[static_cast<std::size_t>(i)].MPI_ERROR);
    any = true;
    return over;
  }
  if (!mpi_ok(self_, code, "a completion test") || finished <= 0) return over;
  any = true;
  for (int i = 0; i < finished; ++i) {
    check_finished(i, MPI_SUCCESS);
    const Piece& piece = finished_piece(i);
    if (--piece.transfer->pieces == 0) {
      piece.transfer->over = true;
      over.push_back(piece.transfer);
    }
    Line& line = lines_.at({piece.send, piece.other, piece.channel});
    --line.pieces;
    line.bytes -= piece.bytes;
  }
  drop_finished();
  begin_next();
  return over;
}

void MpiMessages::check_finished(int i, int code) {
  const Piece& piece = finished_piece(i);
  int got = 0;
  if (!piece.send && code == MPI_SUCCESS)
    MPI_Get_count(&statuses_[static_cast<std::size_t>(i)], MPI_BYTE, &got);
  const bool longer = !piece.send && code != MPI_SUCCESS && is_truncation(code);
  if (longer ||
      (!piece.send && code == MPI_SUCCESS && static_cast<std::size_t>(got) != piece.bytes)) {
    self_.poison(
        fmt::format("rank {} sent {} bytes on channel {}, but rank {} expected {}", piece.other,
                    longer ? "more" : std::to_string(piece.at + static_cast<std::size_t>(got)),
                    piece.channel, self_.rank(), piece.of));
  } else if (mpi_ok(self_, code, "a transfer") && !piece.send) {
    ++counts_[static_cast<std::size_t>(piece.other)].received;
  }
}

void MpiMessages::drop_finished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    if (kept != i) pieces_[kept] = std::move(pieces_[i]);
    ++kept;
  }
  requests_.resize(kept);
  pieces_.resize(kept);
}

}  // namespace weft
