#include "rondo/transport/shm/board.h"

namespace rondo {

// A fresh segment is all zeros, which is the initial state of every member.
Result<BoardView> BoardView::create(int members) {
  RONDO_ASSIGN_OR_RETURN(auto segment,
                         Segment::create(Board::bytes_for(members)));
  return BoardView(std::move(segment));
}

Result<BoardView> BoardView::attach(const SegmentHandle& handle) {
  RONDO_ASSIGN_OR_RETURN(auto segment, Segment::attach(handle));
  return BoardView(std::move(segment));
}

}  // namespace rondo
