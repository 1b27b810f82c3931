/* Holds libiokl to what iokl.h says. Prints what fails; the exit status is the number of failures. */
#include <iokl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static iokl_error err = {.size = sizeof err};

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			__atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);    \
			printf("line %d: %s (last message: %s)\n", __LINE__, #cond, err.message); \
		}                                                              \
	} while (0)

/* STATUS checks a status and that it and a message are in the error structure. */
#define STATUS(call, want)                                                     \
	do {                                                                   \
		iokl_status got_ = (call);                                     \
		CHECK(got_ == (want));                                         \
		CHECK(err.status == got_);                                     \
		CHECK((got_ == IOKL_OK) == (err.message[0] == 0));             \
	} while (0)

enum { L = 40, D = 3, N = 2, T = 7 };

static double x[L * D], y[L * N];

static iokl_matrix rowmajor(double *data, int64_t rows, int64_t cols) {
	iokl_matrix m = {data, rows, cols, cols, 1};
	return m;
}

static iokl_matrix X(void) { return rowmajor(x, L, D); }
static iokl_matrix Y(void) { return rowmajor(y, L, N); }

static void data(void) {
	for (int i = 0; i < L; i++) {
		for (int j = 0; j < D; j++)
			x[i * D + j] = sin(1 + 5 * i + 3 * j);
		y[i * N] = sin(2 * x[i * D]) + x[i * D + 1];
		y[i * N + 1] = cos(2 * x[i * D]) - x[i * D + 1];
	}
}

static const char *given = "{\"kernels\": [\"gaussian:all:1,2\", \"linear:all\"], \"lambda\": 1e-3}";

static iokl_handle fitted(void) {
	iokl_matrix a = X(), b = Y();
	iokl_handle job = 0, model = 0;
	STATUS(iokl_fit(&a, &b, given, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	return model;
}

static void arguments(void) {
	iokl_matrix a = X(), b = Y(), bad;
	iokl_handle job = 77, model = 77;
	STATUS(iokl_fit(NULL, &b, NULL, &job, &err), IOKL_BAD_INPUT);
	STATUS(iokl_fit(&a, NULL, NULL, &job, &err), IOKL_BAD_INPUT);
	STATUS(iokl_fit(&a, &b, NULL, NULL, &err), IOKL_BAD_INPUT);
	STATUS(iokl_fit(&a, &b, "{", &job, &err), IOKL_BAD_INPUT);
	STATUS(iokl_fit(&a, &b, "{} {}", &job, &err), IOKL_BAD_INPUT);
	STATUS(iokl_fit(&a, &b, "[]", &job, &err), IOKL_BAD_INPUT);
	STATUS(iokl_fit(&a, &b, "{\"lamda\": 1}", &job, &err), IOKL_BAD_INPUT);
	CHECK(strstr(err.message, "lamda"));
	STATUS(iokl_fit(&a, &b, "{\"backend\": \"abacus\"}", &job, &err), IOKL_BAD_INPUT);
	bad = a;
	bad.rows = -1;
	STATUS(iokl_fit(&bad, &b, NULL, &job, &err), IOKL_BAD_INPUT);
	bad = a;
	bad.data = NULL;
	STATUS(iokl_fit(&bad, &b, NULL, &job, &err), IOKL_BAD_INPUT);
	bad = a;
	bad.rows = INT64_MAX / 2;
	STATUS(iokl_fit(&bad, &b, NULL, &job, &err), IOKL_BAD_INPUT);
	bad = a;
	bad.row_stride = INT64_MAX;
	STATUS(iokl_fit(&bad, &b, NULL, &job, &err), IOKL_BAD_INPUT);
	bad = a;
	bad.data = (double *)((char *)x + 1);
	STATUS(iokl_fit(&bad, &b, NULL, &job, &err), IOKL_BAD_INPUT);
	CHECK(job == 77); /* no handle was given out */

	/* What only the data tell is said by the job. */
	const char *late[] = {"{\"lambda\": -1}", "{\"kernels\": [\"guassian:all:1\"], \"lambda\": 1}",
	                      "{\"norm\": \"lp:-3\", \"lambda\": 1}"};
	for (int k = 0; k < 3; k++) {
		STATUS(iokl_fit(&a, &b, late[k], &job, &err), IOKL_OK);
		STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
		STATUS(iokl_job_model(job, &model, &err), IOKL_BAD_INPUT);
		CHECK(model == 0);
		STATUS(iokl_job_free(job, &err), IOKL_OK);
	}
	bad = rowmajor(y, L - 1, N);
	STATUS(iokl_fit(&a, &bad, given, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_BAD_INPUT);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	bad = rowmajor(x, 0, D);
	STATUS(iokl_fit(&bad, &b, given, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_BAD_INPUT);
	STATUS(iokl_job_free(job, &err), IOKL_OK);

	STATUS(iokl_fit(&a, &b, "{\"max_bytes\": 100, \"lambda\": 1}", &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_NO_MEMORY);
	STATUS(iokl_job_free(job, &err), IOKL_OK);

	iokl_error wrong = {.size = 12};
	CHECK(iokl_fit(&a, &b, given, &job, &wrong) == IOKL_BAD_INPUT);
	CHECK(iokl_set_threads(-1, NULL) == IOKL_BAD_INPUT);
	STATUS(iokl_set_threads(0, &err), IOKL_OK);
}

static void handles(void) {
	iokl_handle model = fitted(), other = 0;
	iokl_matrix a = X(), f = Y();
	STATUS(iokl_job_wait(model, 0, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_job_free(model, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_model_free(0, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_model_free(model, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_predict(model, &a, &f, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_model_json(model, NULL, 0, NULL, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_model_load("/no/such/file", &other, &err), IOKL_FILE_ERROR);
	STATUS(iokl_model_decode("not a model", 11, &other, &err), IOKL_BAD_MODEL);
	STATUS(iokl_model_decode(NULL, 11, &other, &err), IOKL_BAD_INPUT);
	CHECK(other == 0);
}

static void models(const char *path) {
	iokl_handle model = fitted(), again = 0, third = 0;
	iokl_model_sizes s = {.size = sizeof s};
	STATUS(iokl_model_size(model, &s, &err), IOKL_OK);
	CHECK(s.inputs == D && s.outputs == N && s.learned == N && s.samples == L && s.kernels == 3);
	s.size = 8;
	STATUS(iokl_model_size(model, &s, &err), IOKL_BAD_INPUT);
	iokl_certificate c = {.size = sizeof c};
	STATUS(iokl_model_certificate(model, &c, &err), IOKL_OK);
	CHECK(c.converged && c.relative_gap <= c.tol && c.tol == 1e-4 && c.lambda == 1e-3 && c.objective > 0);

	double eta[3], sum = 0, kernel[N * N], transposed[N * N], trace = 0;
	STATUS(iokl_model_weights(model, eta, 2, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_weights(model, eta, 3, &err), IOKL_OK);
	for (int j = 0; j < 3; j++)
		sum += eta[j];
	CHECK(sum > 0 && sum <= 1 + 1e-12); /* lp:1 */
	iokl_matrix k = rowmajor(kernel, N, N), kt = {transposed + N * N - 1, N, N, -N, -1};
	STATUS(iokl_model_output_kernel(model, &k, &err), IOKL_OK);
	STATUS(iokl_model_output_kernel(model, &kt, &err), IOKL_OK);
	for (int i = 0; i < N; i++)
		trace += kernel[i * N + i];
	CHECK(trace > 0 && trace <= N * (1 + 1e-12));
	for (int i = 0; i < N * N; i++)
		CHECK(transposed[N * N - 1 - i] == kernel[i]);

	/* Text: its size first, then the text; a byte less is refused. */
	size_t need = 0;
	STATUS(iokl_model_json(model, NULL, 0, &need, &err), IOKL_OK);
	char *text = malloc(need);
	STATUS(iokl_model_json(model, text, need - 1, &need, &err), IOKL_SMALL_BUFFER);
	STATUS(iokl_model_json(model, text, need, &need, &err), IOKL_OK);
	CHECK(strlen(text) + 1 == need && strstr(text, "\"certificate\"") && strstr(text, "\"kernel_names\""));
	free(text);

	/* A file, bytes and the model itself predict alike, whatever the strides. */
	STATUS(iokl_model_save(model, path, &err), IOKL_OK);
	STATUS(iokl_model_load(path, &again, &err), IOKL_OK);
	STATUS(iokl_model_encode(model, NULL, 0, &need, &err), IOKL_OK);
	char *bytes = malloc(need);
	STATUS(iokl_model_encode(model, bytes, need, NULL, &err), IOKL_OK);
	STATUS(iokl_model_decode(bytes, need, &third, &err), IOKL_OK);
	free(bytes);
	double f[3][T * N], columns[D * T], g[2 * T * N];
	iokl_matrix t = rowmajor(x, T, D), out;
	iokl_handle all[3] = {model, again, third};
	for (int k = 0; k < 3; k++) {
		out = rowmajor(f[k], T, N);
		STATUS(iokl_predict(all[k], &t, &out, &err), IOKL_OK);
		CHECK(!memcmp(f[k], f[0], sizeof f[0]));
		CHECK(fabs(f[k][0] - y[0]) < 0.2);
	}
	for (int i = 0; i < T; i++)
		for (int j = 0; j < D; j++)
			columns[j * T + i] = x[i * D + j];
	iokl_matrix fortran = {columns, T, D, 1, T}, sparse = {g, T, N, 2 * N, 2};
	STATUS(iokl_predict(model, &fortran, &sparse, &err), IOKL_OK);
	for (int i = 0; i < T; i++)
		for (int j = 0; j < N; j++)
			CHECK(g[2 * (i * N + j)] == f[0][i * N + j]);
	out = rowmajor(f[0], T, N + 1);
	STATUS(iokl_predict(model, &t, &out, &err), IOKL_BAD_INPUT);
	double low[T * N], high[T * N];
	iokl_matrix lo = rowmajor(low, T, N), hi = rowmajor(high, T, N);
	out = rowmajor(g, T, N);
	STATUS(iokl_predict_interval(model, &t, "{\"level\": 0.8, \"method\": \"jackknife+\"}", &out, &lo, &hi, &err),
	       IOKL_OK);
	for (int i = 0; i < T * N; i++)
		CHECK(g[i] == f[0][i] && low[i] < high[i]);
	STATUS(iokl_predict_interval(model, &t, "{\"level\": 2}", &out, &lo, &hi, &err), IOKL_BAD_INPUT);
	STATUS(iokl_predict_interval(model, &t, "{\"leevel\": 0.5}", &out, &lo, &hi, &err), IOKL_BAD_INPUT);
	STATUS(iokl_predict_interval(model, &t, NULL, &out, NULL, &hi, &err), IOKL_BAD_INPUT);
	STATUS(iokl_predict_deviation(model, &t, &out, &err), IOKL_OK);
	STATUS(iokl_predict_noise(model, &t, &out, &err), IOKL_BAD_INPUT);
	iokl_handle none = 0;
	STATUS(iokl_model_at(model, &t, &none, &err), IOKL_BAD_INPUT); /* it has no axis */
	CHECK(none == 0);
	for (int i = 0; i < T * N; i++)
		CHECK(g[i] > 0);
	t.cols = D - 1;
	out = rowmajor(f[0], T, N);
	STATUS(iokl_predict(model, &t, &out, &err), IOKL_BAD_INPUT);
	t = rowmajor(x, T, 0);
	STATUS(iokl_predict(model, &t, &out, &err), IOKL_BAD_INPUT);
	t = rowmajor(x, 0, D);
	out = rowmajor(f[0], 0, N);
	STATUS(iokl_predict(model, &t, &out, &err), IOKL_BAD_INPUT);
	for (int k = 0; k < 3; k++)
		STATUS(iokl_model_free(all[k], &err), IOKL_OK);
}

static void jobs(void) {
	iokl_matrix a = X(), b = Y();
	iokl_handle job, model = 0;
	iokl_progress p = {.size = sizeof p};
	/* λ is chosen: lines are said, and the end is not reached at once. */
	STATUS(iokl_fit(&a, &b, "{\"kernels\": [\"gaussian:all:1,2\"], \"cv\": {\"folds\": 3}}", &job, &err), IOKL_OK);
	while (iokl_job_wait(job, 10, &err) == IOKL_RUNNING) {
		STATUS(iokl_job_progress(job, &p, &err), IOKL_OK);
		CHECK(isnan(p.relative_gap) || p.relative_gap >= 0);
		CHECK(!p.phase[0] || (p.done >= 0 && p.done <= 1 && isnan(p.relative_gap)));
	}
	STATUS(iokl_job_progress(job, &p, &err), IOKL_OK);
	CHECK(p.iteration > 0 && p.relative_gap <= 1e-4 && p.objective > 0 && p.lines > 0);
	int64_t lines = p.lines;
	char line[4096];
	size_t need;
	STATUS(iokl_job_line(job, line, 1, &need, &err), IOKL_SMALL_BUFFER);
	STATUS(iokl_job_line(job, NULL, 0, &need, &err), IOKL_OK);
	CHECK(need > 1);
	for (; lines > 0; lines--) {
		STATUS(iokl_job_line(job, line, sizeof line, &need, &err), IOKL_OK);
		CHECK(need == strlen(line) + 1);
	}
	STATUS(iokl_job_line(job, line, sizeof line, &need, &err), IOKL_OK);
	CHECK(need == 0);
	STATUS(iokl_job_json(job, line, sizeof line, &need, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);

	/* A fit that cannot reach its tolerance soon: asked twice to end, it ends; freed, it ends too. */
	const char *endless = "{\"cv\": {\"repeats\": 1000}, \"tol\": 1e-12}";
	STATUS(iokl_fit(&a, &b, endless, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, 20, &err), IOKL_RUNNING);
	STATUS(iokl_job_model(job, &model, &err), IOKL_RUNNING);
	STATUS(iokl_job_cancel(job, &err), IOKL_OK);
	STATUS(iokl_job_cancel(job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_CANCELLED);
	if (model)
		STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	STATUS(iokl_fit(&a, &b, endless, &job, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);

	/* An iteration limit leaves a model beside the status. */
	const char *one = "{\"kernels\": [\"gaussian:each:0.5,1,2\"], \"lambda\": 1e-4, \"max_outer\": 1, \"tol\": 1e-10}";
	STATUS(iokl_fit(&a, &b, one, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_NOT_CONVERGED);
	CHECK(model != 0);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);

	const char *settings = "{\"kernels\": [\"linear:all\"], \"cv\": {\"folds\": 3, \"lambdas\": [0.1, 0.01]}}";
	STATUS(iokl_cross_validate(&a, &b, settings, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_json(job, line, sizeof line, &need, &err), IOKL_OK);
	CHECK(strstr(line, "\"points\""));
	STATUS(iokl_job_model(job, &model, &err), IOKL_NO_SUCH_HANDLE);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
}

static void classes(void) {
	iokl_matrix a = X();
	int64_t codes[L];
	const char *names[] = {"down", "up"};
	for (int i = 0; i < L; i++)
		codes[i] = x[i * D] > 0;
	iokl_handle job, model;
	STATUS(iokl_fit_classes(&a, codes, L, names, 2, given, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	double f[L * 2];
	iokl_matrix out = rowmajor(f, L, 2);
	STATUS(iokl_predict(model, &a, &out, &err), IOKL_OK);
	int right = 0;
	for (int i = 0; i < L; i++)
		right += (f[2 * i + 1] > f[2 * i]) == codes[i];
	CHECK(right >= L - 3);
	double sets[L * 2];
	iokl_matrix p = rowmajor(f, L, 2), in = rowmajor(sets, L, 2);
	STATUS(iokl_predict_sets(model, &a, 0.9, &p, &in, &err), IOKL_OK); /* by refits without each row */
	STATUS(iokl_predict_sets(model, &a, 1.5, &p, &in, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	const char *folds = "{\"kernels\": [\"gaussian:all:1,2\"], \"lambda\": 1e-3, \"interval_folds\": 4}";
	STATUS(iokl_fit_classes(&a, codes, L, names, 2, folds, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	STATUS(iokl_predict_sets(model, &a, 0.9, &p, &in, &err), IOKL_OK);
	int held = 0;
	for (int i = 0; i < L; i++) {
		held += sets[2 * i + codes[i]] == 1;
		CHECK(fabs(f[2 * i] + f[2 * i + 1] - 1) < 1e-12 && sets[2 * i] + sets[2 * i + 1] >= 1);
	}
	CHECK(held >= 0.8 * L);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	codes[3] = 2;
	STATUS(iokl_fit_classes(&a, codes, L, names, 2, given, &job, &err), IOKL_BAD_INPUT);
	codes[3] = 0;
	STATUS(iokl_fit_classes(&a, codes, L - 1, names, 2, given, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_BAD_INPUT);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	STATUS(iokl_fit_classes(&a, NULL, L, names, 2, given, &job, &err), IOKL_BAD_INPUT);
}

static void grams(void) {
	static double k[2][L * L], kx[2][T * L];
	for (int i = 0; i < L; i++)
		for (int j = 0; j < L; j++) {
			double dot = 0, r2 = 0;
			for (int q = 0; q < D; q++) {
				dot += x[i * D + q] * x[j * D + q];
				r2 += pow(x[i * D + q] - x[j * D + q], 2);
			}
			k[0][i * L + j] = dot;
			k[1][i * L + j] = exp(-r2);
		}
	for (int i = 0; i < T * L; i++)
		kx[0][i] = k[0][i], kx[1][i] = k[1][i]; /* the new samples are the first T */
	iokl_matrix stack[2] = {rowmajor(k[0], L, L), rowmajor(k[1], L, L)}, b = Y();
	iokl_matrix cross[2] = {rowmajor(kx[0], T, L), rowmajor(kx[1], T, L)};
	iokl_handle job, model;
	STATUS(iokl_fit_gram(stack, 2, &b, "{\"lambda\": 1e-4}", &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	double f[T * N];
	iokl_matrix out = rowmajor(f, T, N);
	STATUS(iokl_predict_gram(model, cross, 2, &out, &err), IOKL_OK);
	for (int i = 0; i < T * N; i++)
		CHECK(fabs(f[i] - y[i]) < 0.2);
	STATUS(iokl_predict_gram(model, cross, 0, &out, &err), IOKL_BAD_INPUT);
	/* It is of the squared loss. */
	STATUS(iokl_predict_probabilities_gram(model, cross, 2, &out, &err), IOKL_BAD_INPUT);
	iokl_matrix a = X();
	STATUS(iokl_predict(model, &a, &b, &err), IOKL_BAD_INPUT);
	double low[T * N], high[T * N];
	iokl_matrix lo = rowmajor(low, T, N), hi = rowmajor(high, T, N);
	STATUS(iokl_predict_interval_gram(model, cross, 2, "{\"level\": 0.8}", &out, &lo, &hi, &err), IOKL_OK);
	/* It keeps no models of folds. */
	STATUS(iokl_predict_interval_gram(model, cross, 2, "{\"method\": \"cv+\"}", &out, &lo, &hi, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_fit_gram(stack, 2, &b, "{\"lambda\": 1e-4, \"interval_folds\": 5}", &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	double f2[T * N];
	iokl_matrix out2 = rowmajor(f2, T, N);
	STATUS(iokl_predict_interval_gram(model, cross, 2, "{\"level\": 0.8}", &out2, &lo, &hi, &err), IOKL_OK);
	for (int i = 0; i < T * N; i++)
		CHECK(f2[i] == f[i] && low[i] < high[i] && low[i] <= f[i] && f[i] <= high[i]);
	STATUS(iokl_predict_interval_gram(model, cross, 1, NULL, &out2, &lo, &hi, &err), IOKL_BAD_INPUT);
	STATUS(iokl_predict_interval_gram(model, NULL, 2, NULL, &out2, &lo, &hi, &err), IOKL_BAD_INPUT);
	/* Cross-Gram matrices do not say k(x,x). */
	STATUS(iokl_predict_interval_gram(model, cross, 2, "{\"local\": true}", &out2, &lo, &hi, &err), IOKL_BAD_INPUT);
	hi.rows--;
	STATUS(iokl_predict_interval_gram(model, cross, 2, NULL, &out2, &lo, &hi, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_fit_gram(NULL, 2, &b, NULL, &job, &err), IOKL_BAD_INPUT);
}

static void graph(void) {
	enum { TIME = 200 };
	static double s[TIME * 2];
	s[0] = 0.3, s[1] = 0.1;
	for (int t = 1; t < TIME; t++) { /* a drives b */
		s[2 * t] = 3.8 * s[2 * t - 2] * (1 - s[2 * t - 2]);
		s[2 * t + 1] = 0.2 * s[2 * t - 1] + 0.8 * s[2 * t - 2] * s[2 * t - 2];
	}
	iokl_matrix series = rowmajor(s, TIME, 2);
	iokl_handle job;
	STATUS(iokl_granger(&series, "{\"names\": [\"a\", \"b\"], \"lag\": 1, \"lambda\": 0.01}", &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	double g[4];
	iokl_matrix out = rowmajor(g, 2, 2);
	STATUS(iokl_job_graph(job, &out, &err), IOKL_OK);
	CHECK(g[2] > 10 * g[1]);
	size_t need;
	STATUS(iokl_job_json(job, NULL, 0, &need, &err), IOKL_OK);
	CHECK(need > 10);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	STATUS(iokl_granger(&series, "{\"names\": [\"a\"]}", &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_graph(job, &out, &err), IOKL_BAD_INPUT);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	const double gaps[] = {NAN, INFINITY}; /* a missing value, around which windows are left out, and none */
	for (int k = 0; k < 2; k++) {
		s[5] = gaps[k];
		STATUS(iokl_granger(&series, "{\"lag\": 1, \"lambda\": 0.01}", &job, &err), IOKL_OK);
		STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
		STATUS(iokl_job_graph(job, &out, &err), k == 0 ? IOKL_OK : IOKL_BAD_INPUT);
		STATUS(iokl_job_free(job, &err), IOKL_OK);
	}
	CHECK(g[2] > 10 * g[1]);
}

static int diagonal(void *scale, const iokl_matrix *v, const iokl_matrix *w) {
	for (int64_t i = 0; i < v->rows; i++)
		for (int64_t j = 0; j < v->cols; j++)
			w->data[i * w->row_stride + j] = *(double *)scale * (double)(i + 1) * v->data[i * v->row_stride + j];
	return 0;
}

static int refuses(void *none, const iokl_matrix *v, const iokl_matrix *w) {
	(void)none;
	for (int64_t i = 0; i < v->rows; i++)
		w->data[i * w->row_stride] = 0;
	return 3;
}

static void solvers(void) {
	enum { n = 12, m = 3 };
	double k[n * n], l[m * m] = {2, 1, 0, 1, 2, 1, 0, 1, 2}, q[n * m], c[n * m], mu = 0.5;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			k[i * n + j] = exp(-0.1 * (i - j) * (i - j));
	for (int i = 0; i < n * m; i++)
		q[i] = sin(i);
	iokl_matrix K = rowmajor(k, n, n), Lm = rowmajor(l, m, m), Q = rowmajor(q, n, m), C = rowmajor(c, n, m);
	iokl_solved r = {.size = sizeof r};
	for (int hole = 0; hole < 3; hole++) { /* all cells; a missing one; the general solver */
		q[4] = hole == 1 ? NAN : sin(4);
		if (hole < 2)
			STATUS(iokl_solve_sylvester(&K, &Lm, mu, &Q, &C, NULL, 1e-10, &r, &err), IOKL_OK);
		else
			STATUS(iokl_solve_general(&K, &Lm, mu, &Q, &C, &r, &err), IOKL_OK);
		CHECK(r.residual <= 1e-10);
		for (int i = 0; i < n; i++)
			for (int j = 0; j < m; j++) {
				double sum = mu * c[i * m + j];
				for (int a = 0; a < n; a++)
					for (int b = 0; b < m; b++)
						sum += k[i * n + a] * c[a * m + b] * l[b * m + j];
				if (hole == 1 && i * m + j == 4)
					CHECK(c[4] == 0);
				else
					CHECK(fabs(sum - q[i * m + j]) < 1e-8);
			}
	}
	STATUS(iokl_solve_sylvester(&K, &Lm, 0, &Q, &C, NULL, 0, &r, &err), IOKL_BAD_INPUT);
	STATUS(iokl_solve_sylvester(&K, &Lm, mu, &Q, &C, "magic", 0, &r, &err), IOKL_BAD_INPUT);
	STATUS(iokl_solve_sylvester(&Lm, &K, mu, &Q, &C, NULL, 0, &r, &err), IOKL_BAD_INPUT);
	STATUS(iokl_solve_sylvester(&Q, &Lm, mu, &Q, &C, NULL, 0, &r, &err), IOKL_BAD_INPUT);
	k[1] += 1;
	STATUS(iokl_solve_sylvester(&K, &Lm, mu, &Q, &C, NULL, 0, &r, &err), IOKL_BAD_INPUT);
	k[1] = NAN;
	STATUS(iokl_solve_sylvester(&K, &Lm, mu, &Q, &C, NULL, 0, &r, &err), IOKL_BAD_INPUT);

	double scale = 2, v[n], b[n], values[2], pairs[n * 2];
	for (int i = 0; i < n; i++)
		v[i] = 0, b[i] = i + 1;
	STATUS(iokl_solve_operator(diagonal, &scale, n, v, b, 0, 0, &r, &err), IOKL_OK);
	for (int i = 0; i < n; i++)
		CHECK(fabs(v[i] - 0.5) < 1e-7);
	scale = -1;
	STATUS(iokl_solve_operator(diagonal, &scale, n, v, b, 0, 0, &r, &err), IOKL_BAD_INPUT);
	STATUS(iokl_solve_operator(refuses, NULL, n, v, b, 0, 0, &r, &err), IOKL_CANCELLED);
	CHECK(strstr(err.message, "3"));
	STATUS(iokl_solve_operator(NULL, NULL, n, v, b, 0, 0, &r, &err), IOKL_BAD_INPUT);
	STATUS(iokl_solve_operator(diagonal, &scale, 0, v, b, 0, 0, &r, &err), IOKL_BAD_INPUT);
	scale = 1;
	iokl_matrix P = rowmajor(pairs, n, 2);
	STATUS(iokl_eigenpairs(diagonal, &scale, n, 2, 0, 0, values, &P, &r, &err), IOKL_OK);
	CHECK(fabs(values[0] - n) < 1e-6 && fabs(values[1] - n + 1) < 1e-6 && fabs(fabs(pairs[(n - 1) * 2]) - 1) < 1e-6);
	STATUS(iokl_eigenpairs(diagonal, &scale, n, 1, 1, 0, values, &P, &r, &err), IOKL_BAD_INPUT);
	P.cols = 1;
	STATUS(iokl_eigenpairs(diagonal, &scale, n, 1, 1, 0, values, &P, &r, &err), IOKL_OK);
	CHECK(fabs(values[0] - 1) < 1e-6);
}

/* An output kernel for each kernel, and targets of which cells are missing. */
static void sums(void) {
	iokl_matrix a = X(), b = Y();
	iokl_handle job, model;
	double whole = y[5], parts[3][N * N], all[N * N];
	y[5] = NAN;
	const char *sum = "{\"model\": \"sum\", \"kernels\": [\"gaussian:all:1,2\", \"linear:all\"], \"lambda\": 1e-3}";
	STATUS(iokl_fit(&a, &b, sum, &job, &err), IOKL_OK);
	STATUS(iokl_job_wait(job, -1, &err), IOKL_OK);
	STATUS(iokl_job_model(job, &model, &err), IOKL_OK);
	STATUS(iokl_job_free(job, &err), IOKL_OK);
	CHECK(isnan(y[5]));
	y[5] = whole;
	iokl_certificate c = {.size = sizeof c};
	STATUS(iokl_model_certificate(model, &c, &err), IOKL_OK);
	CHECK(c.observed_cells == L * N - 1 && c.lower_bound <= c.objective && c.global_gap >= 0 && c.global_gap < 1e-3);
	iokl_matrix k;
	for (int j = 0; j < 3; j++) {
		k = rowmajor(parts[j], N, N);
		STATUS(iokl_model_output_kernel_of(model, j, &k, &err), IOKL_OK);
	}
	k = rowmajor(all, N, N);
	STATUS(iokl_model_output_kernel(model, &k, &err), IOKL_OK);
	for (int i = 0; i < N * N; i++)
		CHECK(fabs(all[i] - parts[0][i] - parts[1][i] - parts[2][i]) < 1e-9);
	STATUS(iokl_model_output_kernel_of(model, 3, &k, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	model = fitted();
	STATUS(iokl_model_output_kernel_of(model, 0, &k, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_certificate(model, &c, &err), IOKL_OK);
	CHECK(isnan(c.global_gap) && c.observed_cells == L * N);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
}

/* Threads share a model, and fit at the same time. */
static void *worker(void *arg) {
	iokl_handle shared = *(iokl_handle *)arg, own;
	iokl_error e = {.size = sizeof e};
	double first[T * N], f[T * N];
	iokl_matrix a = X(), b = Y(), t = rowmajor(x, T, D), out = rowmajor(first, T, N);
	CHECK(iokl_predict(shared, &t, &out, &e) == IOKL_OK);
	for (int round = 0; round < 20; round++) {
		iokl_handle job;
		CHECK(iokl_fit(&a, &b, given, &job, &e) == IOKL_OK);
		CHECK(iokl_job_wait(job, -1, &e) == IOKL_OK);
		CHECK(iokl_job_model(job, &own, &e) == IOKL_OK);
		CHECK(iokl_job_free(job, &e) == IOKL_OK);
		out.data = f;
		CHECK(iokl_predict(round % 2 ? shared : own, &t, &out, &e) == IOKL_OK);
		CHECK(!memcmp(f, first, sizeof f));
		CHECK(iokl_model_free(own, &e) == IOKL_OK);
		CHECK(iokl_predict(own, &t, &out, &e) == IOKL_NO_SUCH_HANDLE && e.message[0]);
	}
	return NULL;
}

/* A row that arrives and leaves again leaves the predictions as they are; the first model does not change. */
static void updates(void) {
	iokl_handle model = fitted(), more = 0, less = 0, none = 77;
	double f[4][T * N], x1[D] = {0.3, -0.2, 0.1}, y1[N] = {3, -3};
	iokl_matrix t = rowmajor(x, T, D), a = rowmajor(x1, 1, D), b = rowmajor(y1, 1, N), out[4];
	for (int k = 0; k < 4; k++)
		out[k] = rowmajor(f[k], T, N);
	STATUS(iokl_predict(model, &t, &out[0], &err), IOKL_OK);
	STATUS(iokl_model_prepare(model, &err), IOKL_OK);
	STATUS(iokl_model_update(model, &a, &b, NULL, &more, &err), IOKL_OK);
	STATUS(iokl_model_update(more, NULL, NULL, "{\"forget\": [40]}", &less, &err), IOKL_OK);
	STATUS(iokl_predict(more, &t, &out[1], &err), IOKL_OK);
	STATUS(iokl_predict(less, &t, &out[2], &err), IOKL_OK);
	STATUS(iokl_predict(model, &t, &out[3], &err), IOKL_OK);
	double moved = 0;
	for (int i = 0; i < T * N; i++) {
		moved = fmax(moved, fabs(f[1][i] - f[0][i]));
		CHECK(fabs(f[2][i] - f[0][i]) < 1e-3); /* the fit solves its system to its tolerance only */
		CHECK(f[3][i] == f[0][i]);
	}
	CHECK(moved > 1e-3);
	iokl_model_sizes sizes = {.size = sizeof sizes};
	STATUS(iokl_model_size(more, &sizes, &err), IOKL_OK);
	CHECK(sizes.samples == L + 1);
	STATUS(iokl_model_update(model, &a, NULL, NULL, &none, &err), IOKL_BAD_INPUT);
	CHECK(none == 0);
	STATUS(iokl_model_update(model, &a, &b, "{\"forgot\": [1]}", &none, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_update(model, NULL, NULL, "{\"forget\": [40]}", &none, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_update(model, &a, &b, NULL, NULL, &err), IOKL_BAD_INPUT);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
	STATUS(iokl_model_free(more, &err), IOKL_OK);
	STATUS(iokl_model_free(less, &err), IOKL_OK);
}

static void threads(void) {
	iokl_handle model = fitted();
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, worker, &model);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	STATUS(iokl_model_free(model, &err), IOKL_OK);
}

int main(int argc, char **argv) {
	if (argc != 2 || iokl_abi_version() != IOKL_ABI_VERSION)
		return 100;
	char text[1024];
	size_t need;
	STATUS(iokl_library(text, sizeof text, &need, &err), IOKL_OK);
	CHECK(strstr(text, "\"version\""));
	data();
	arguments();
	handles();
	models(argv[1]);
	jobs();
	classes();
	grams();
	graph();
	solvers();
	sums();
	updates();
	threads();
	return failures > 99 ? 99 : failures;
}
