// Messages between ranks that MPI has under way. Internal, and of the thread that owns MPI.
#pragma once

// The C++ bindings that MPI has dropped.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "weft/core/world/transport.h"

namespace weft {

struct MpiTransfer : Transfer::State {
  std::size_t pieces = 0;  // that are not over
  bool over = false;       // for the thread that owns MPI
  bool done = false;       // for whoever waits
};

struct MpiMessage {
  bool send;
  int other, channel;
  std::byte* data;
  std::size_t bytes;
  std::shared_ptr<MpiTransfer> transfer = nullptr;
  std::shared_ptr<MpiTransfer> received = nullptr;  // of a send: what is to come before
};

/// False, and the world is poisoned, where `code` says that MPI failed at `what` ("a send"). `self`
/// is this rank's end.
bool mpi_good(Transport& self, int code, std::string_view what);

/// Messages move in pieces, of which those of one line (sends to a rank on a channel, or receives)
/// are begun in turn, so many bytes at a time: MPI shares a link among all that is begun, and the
/// first of many messages would arrive with the last. Pieces for other hosts are as large as MPI
/// sends without a question to the receiver. The answer would have to wait behind what that one
/// sends itself: of two ranks that send to each other one would be done before the other begins.
class MpiMessages {
 public:
  struct Piece {
    std::shared_ptr<MpiTransfer> transfer;
    bool send;
    int other, channel;
    std::size_t at, bytes, of;  // behind so many bytes of a message of so many
  };
  /// Pieces that were sent to a rank (begun, at least), and that have come from it.
  struct Counts {
    std::uint64_t sent = 0, received = 0;
  };

  /// `self` is this rank's end, which is poisoned where MPI fails, or a message is not as long as
  /// was expected.
  MpiMessages(MPI_Comm comm, Transport& self);

  /// Begins a message, or has it wait for those in front of it. Channels do not wait for one
  /// another. False where it failed.
  bool start(const MpiMessage& message);
  /// The transfers that are over since the last call. `any`: whether a piece of any is.
  std::vector<std::shared_ptr<MpiTransfer>> finish(bool& any);

  const std::vector<Piece>& under_way() const { return pieces_; }
  /// Nothing is under way, and nothing waits.
  bool idle() const { return pieces_.empty() && lines_.empty(); }
  const Counts& counts(int other) const { return counts_[static_cast<std::size_t>(other)]; }

 private:
  // How the messages of a line move: bytes.
  struct Measure {
    std::size_t piece;
    std::size_t sends, receives;  // more are begun while less than this is under way
  };
  // In the order of the calls.
  struct Line {
    std::size_t pieces = 0, bytes = 0;  // under way
    std::deque<MpiMessage> waiting = {};
    std::size_t at = 0;  // of the first of them: what has begun
  };

  const Measure& measure_of(int other) const { return measures_[static_cast<std::size_t>(other)]; }
  bool begin_piece(Line& line);
  bool begin_next(Line& line);
  bool begin_next();  // of all lines
  Piece& finished_piece(int i) {
    return pieces_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])];
  }
  void check_finished(int i, int code);
  void drop_finished();

  const MPI_Comm comm_;
  Transport& self_;
  std::vector<MPI_Request> requests_;
  std::vector<Piece> pieces_;      // of the requests
  std::vector<Counts> counts_;     // by rank
  std::vector<Measure> measures_;  // by rank
  // By whether they send, rank and channel; those with something under way, or that waits.
  std::map<std::tuple<bool, int, int>, Line> lines_;
  std::vector<int> indices_;  // of what MPI has finished
  std::vector<MPI_Status> statuses_;
};

}  // namespace weft
