/* Every operation of the C API, on however many ranks this is started with. */
#include <rondo/rondo_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16 };

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "rondo_c_test.c:%d: %s does not hold; last error: %s\n", line,
          what, rondo_last_error());
  failures++;
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_OK(call) CHECK((call) == RONDO_OK)

static int larger_magnitude(void* inout, const void* in, int64_t count,
                            rondo_dtype_t dtype, void* context) {
  int32_t* a = inout;
  const int32_t* b = in;
  if (dtype != RONDO_I32) abort();
  for (int64_t i = 0; i < count; i++)
    if (abs(b[i]) > abs(a[i])) a[i] = b[i];
  ++*(int*)context;
  return 0;
}

static void test_reductions(rondo_comm_t* comm) {
  const int rank = rondo_rank(comm), size = rondo_size(comm);
  const int sum = size * (size - 1) / 2;
  rondo_call_options_t options = RONDO_CALL_OPTIONS_INIT;

  float* x = rondo_alloc(4 * sizeof *x);
  float y[4];
  for (int i = 0; i < 4; i++) x[i] = (float)(rank + i);
  CHECK_OK(rondo_allreduce(comm, x, y, 4, RONDO_F32, NULL));
  CHECK(x[3] == (float)(rank + 3) && y[3] == (float)(sum + 3 * size));
  CHECK_OK(rondo_allreduce(comm, x, x, 4, RONDO_F32, NULL));
  CHECK(x[0] == (float)sum);
  rondo_free(x);

  int64_t a = rank, b[2] = {rank, 1};
  void* arrays[2] = {&a, b};
  const int64_t counts[2] = {1, 2};
  CHECK_OK(rondo_allreduce_many(comm, arrays, counts, 2, RONDO_I64, NULL));
  CHECK(a == sum && b[0] == sum && b[1] == size);

  options.op = RONDO_MAX;
  options.root = size - 1;
  int32_t mine = rank, most = -1;
  CHECK_OK(rondo_reduce(comm, &mine, &most, 1, RONDO_I32, &options));
  CHECK(most == (rank == size - 1 ? size - 1 : -1));

  int32_t each[kMost], part = 0;
  for (int r = 0; r < size; r++) each[r] = r + 10 * rank;
  CHECK_OK(rondo_reduce_scatter(comm, each, &part, 1, RONDO_I32, NULL));
  CHECK(part == rank * size + 10 * sum);

  int calls = 0;
  int32_t z = rank == 0 ? -100 : rank;
  options.op = RONDO_USER;
  options.root = 0;
  options.reduce = larger_magnitude;
  options.reduce_context = &calls;
  CHECK_OK(rondo_allreduce(comm, &z, &z, 1, RONDO_I32, &options));
  CHECK(z == -100);
}

static void test_moves(rondo_comm_t* comm) {
  const int rank = rondo_rank(comm), size = rondo_size(comm);
  rondo_call_options_t last = RONDO_CALL_OPTIONS_INIT;
  last.root = size - 1;

  double x = rank == size - 1 ? 2.5 : 0;
  CHECK_OK(rondo_broadcast(comm, &x, 1, RONDO_F64, &last));
  CHECK(x == 2.5);

  uint8_t mine = (uint8_t)(rank + 1), all[kMost] = {0};
  CHECK_OK(rondo_allgather(comm, &mine, all, 1, RONDO_U8, NULL));
  for (int r = 0; r < size; r++) CHECK(all[r] == r + 1);
  memset(all, 0, sizeof all);
  CHECK_OK(rondo_gather(comm, &mine, all, 1, RONDO_U8, &last));
  for (int r = 0; r < size; r++)
    CHECK(all[r] == (rank == last.root ? r + 1 : 0));
  mine = 0;
  CHECK_OK(rondo_scatter(comm, all, &mine, 1, RONDO_U8, &last));
  CHECK(mine == rank + 1);

  int16_t out[kMost], in[kMost];
  for (int r = 0; r < size; r++) out[r] = (int16_t)(100 * rank + r);
  CHECK_OK(rondo_all_to_all(comm, out, in, 1, RONDO_I16, NULL));
  for (int r = 0; r < size; r++) CHECK(in[r] == 100 * r + rank);

  /* One element of everybody, but none of rank 0. */
  int64_t counts[kMost], from_all[kMost], to_all[kMost];
  for (int r = 0; r < size; r++) {
    counts[r] = r > 0;
    from_all[r] = r > 0;
    to_all[r] = rank > 0;
  }
  memset(in, 0, sizeof in);
  CHECK_OK(rondo_allgatherv(comm, out, in, counts, RONDO_I16, NULL));
  for (int r = 1; r < size; r++) CHECK(in[r - 1] == 100 * r);
  memset(in, 0, sizeof in);
  CHECK_OK(rondo_all_to_allv(comm, out, to_all, in, from_all, RONDO_I16, NULL));
  for (int r = 1; r < size; r++) CHECK(in[r - 1] == 100 * r + rank);

  CHECK_OK(rondo_barrier(comm, NULL));
  if (size == 1) return;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int32_t token = rank, got = -1;
  CHECK_OK(
      rondo_sendrecv(comm, &token, 1, right, &got, 1, left, RONDO_I32, NULL));
  CHECK(got == left);
  if (rank == 0) CHECK_OK(rondo_send(comm, &token, 1, RONDO_I32, 1, NULL));
  if (rank == 1) CHECK_OK(rondo_recv(comm, &got, 1, RONDO_I32, 0, NULL));
  if (rank == 1) CHECK(got == 0);
}

static void test_work(rondo_comm_t* comm) {
  const int rank = rondo_rank(comm), size = rondo_size(comm);
  int32_t x[3] = {1, 1, 1}, y = rank;
  rondo_work_t *first, *second;
  int32_t done = 0;
  CHECK_OK(rondo_allreduce_async(comm, x, x, 3, RONDO_I32, NULL, &first));
  CHECK_OK(rondo_broadcast_async(comm, &y, 1, RONDO_I32, NULL, &second));
  CHECK_OK(rondo_work_wait(second, -1));
  CHECK_OK(rondo_work_wait(first, 30));
  CHECK_OK(rondo_work_test(first, &done));
  CHECK(done == 1 && x[2] == size && y == 0);
  rondo_work_free(first);
  rondo_work_free(second);

  CHECK(rondo_allreduce_async(comm, x, x, -1, RONDO_I32, NULL, &first) ==
        RONDO_INVALID_ARGUMENT);
  CHECK(first == NULL);
}

static void test_split(rondo_comm_t* comm) {
  const int rank = rondo_rank(comm), size = rondo_size(comm);
  rondo_comm_t* part;
  CHECK_OK(rondo_split(comm, rank == 0 ? -1 : 0, -rank, &part));
  if (rank == 0) {
    CHECK(part == NULL);
    return;
  }
  CHECK(rondo_size(part) == size - 1);
  CHECK(rondo_rank(part) == size - 1 - rank);
  rondo_comm_free(part);
}

int main(void) {
  rondo_comm_options_t options = RONDO_COMM_OPTIONS_INIT;
  options.connect_timeout = 30;
  options.timeout = 30;
  rondo_comm_t* comm;
  if (rondo_world(&options, &comm) != RONDO_OK) {
    fprintf(stderr, "%s\n", rondo_last_error());
    return 1;
  }
  test_reductions(comm);
  test_moves(comm);
  test_work(comm);
  test_split(comm);
  CHECK_OK(rondo_barrier(comm, NULL));
  rondo_comm_free(comm);
  return failures == 0 ? 0 : 1;
}
