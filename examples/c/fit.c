/* Learns two outputs of one input, polls the fit as a program with a user interface would, and predicts.
 *
 *   make capi OUT=out && cc -Icapi examples/c/fit.c -Lout -liokl -lm -Wl,-rpath,out -o fit && ./fit
 */
#include <iokl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 60, NEW = 3 };

static iokl_error err = {.size = sizeof err};

static void must(iokl_status s) {
	if (s != IOKL_OK) {
		fprintf(stderr, "iokl: status %d: %s\n", (int)s, err.message);
		exit(1);
	}
}

static iokl_matrix matrix(double *data, int64_t rows, int64_t cols) {
	return (iokl_matrix){.data = data, .rows = rows, .cols = cols, .row_stride = cols, .col_stride = 1};
}

int main(void) {
	if (iokl_abi_version() != IOKL_ABI_VERSION) {
		fprintf(stderr, "the library has another interface\n");
		return 1;
	}
	double x[ROWS], y[ROWS][2], at[NEW] = {-0.5, 0.0, 0.5}, f[NEW][2];
	for (int i = 0; i < ROWS; i++) {
		x[i] = i / 30.0 - 1;
		y[i][0] = sin(3 * x[i]);
		y[i][1] = 2 * sin(3 * x[i]);
	}
	iokl_matrix X = matrix(x, ROWS, 1), Y = matrix(&y[0][0], ROWS, 2);
	iokl_matrix New = matrix(at, NEW, 1), F = matrix(&f[0][0], NEW, 2);

	iokl_handle job, model;
	must(iokl_fit(&X, &Y, "{\"kernels\": [\"gaussian:all:0.5,1,2\"], \"lambda\": 1e-5}", &job, &err));
	iokl_status s;
	while ((s = iokl_job_wait(job, 50, &err)) == IOKL_RUNNING) {
		iokl_progress p = {.size = sizeof p};
		must(iokl_job_progress(job, &p, &err));
		fprintf(stderr, "iteration %lld, relative gap %.2g\n", (long long)p.iteration, p.relative_gap);
	}
	must(s);
	must(iokl_job_model(job, &model, &err));
	must(iokl_job_free(job, &err));

	iokl_certificate c = {.size = sizeof c};
	must(iokl_model_certificate(model, &c, &err));
	printf("relative gap at most 1e-4: %s\n", c.converged ? "yes" : "no");
	must(iokl_predict(model, &New, &F, &err));
	for (int i = 0; i < NEW; i++)
		printf("f(%.1f) = %.2f, %.2f\n", at[i], f[i][0], f[i][1]);
	must(iokl_model_free(model, &err));
	return 0;
}
