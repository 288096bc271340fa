/* Four ranks add up their ranks: build/rondo run -n 4 -- build/examples/hello_c
 */
#include <rondo/rondo_c.h>
#include <stdio.h>

int main(void) {
  rondo_comm_t* comm;
  if (rondo_world(NULL, &comm) != RONDO_OK) {
    fprintf(stderr, "hello: %s\n", rondo_last_error());
    return 1;
  }
  float x[4];
  for (int i = 0; i < 4; i++) x[i] = (float)rondo_rank(comm);

  const rondo_status_t status =
      rondo_allreduce(comm, x, x, 4, RONDO_F32, NULL); /* sum, in place */
  if (status != RONDO_OK)
    fprintf(stderr, "hello: %s\n", rondo_last_error());
  else if (rondo_rank(comm) == 0)
    printf("sum of the ranks: %g %g %g %g\n", x[0], x[1], x[2], x[3]);
  rondo_comm_free(comm);
  return status == RONDO_OK ? 0 : 1;
}
