/* Calls libiokl with random arguments: random CALLS SECONDS SEED ends after either, 0 being no limit. Every
 * call must return a status that iokl.h names, the same one with a message in the error structure, and must write to
 * what it was given only. At the end a model predicts what it did at the start, and the process holds no more than
 * after its first third. */
#include <dirent.h>
#include <iokl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { L = 8, D = 2, N = 2, ROOM = 4096, STATUSES = IOKL_FAILED + 1 };

static struct {
	iokl_error err;
	char after[64];
} said = {.err = {.size = sizeof(iokl_error)}};
static iokl_error *const err = &said.err;
static const char *calling;
static long calls, met[STATUSES];
static uint64_t state;

/* draw is below n (splitmix64). */
static uint64_t draw(uint64_t n) {
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % n;
}

static void fail(const char *what) {
	printf("call %ld, %s: %s (status %d, message %s)\n", calls, calling, what, err->status, err->message);
	exit(1);
}

/* judged counts a call and holds its status to the error structure. */
#define judged(call) (calling = #call, check(call))
static iokl_status check(iokl_status s) {
	calls++;
	if (s < 0 || s >= STATUSES)
		fail("an unknown status");
	met[s]++;
	if (err->status != s || (s == IOKL_OK) != (err->message[0] == 0) || !memchr(err->message, 0, sizeof err->message))
		fail("status and message differ");
	if (s == IOKL_FAILED)
		fail("a failure without a cause");
	for (size_t i = 0; i < sizeof said.after; i++)
		if (said.after[i])
			fail("a write past the error structure");
	return s;
}

static double room[ROOM], x[L * D], y[L * N];

static double number(void) {
	static const double odd[] = {0, -0.0, 1, -1, 1e300, -1e300, 5e-324, 1e-150, INFINITY, NAN};
	return draw(12) ? (double)draw(2001) / 1000 - 1 : odd[draw(10)];
}

/* matrix lies within room, or is refused before its elements are looked at. */
static iokl_matrix matrix(int64_t rows, int64_t cols) {
	iokl_matrix m = {room + ROOM / 2, rows, cols, cols, 1};
	switch (draw(16)) {
	case 0:
		m.rows = (int64_t)draw(10), m.cols = (int64_t)draw(10);
		m.row_stride = m.cols;
		break;
	case 1:
		m.row_stride = (int64_t)draw(129) - 64, m.col_stride = (int64_t)draw(129) - 64;
		break;
	case 2:
		m.data = draw(2) ? NULL : (double *)((char *)room + 4);
		break;
	case 3:
		*(draw(2) ? &m.rows : &m.cols) = draw(2) ? -1 : INT64_MAX / 2;
		break;
	case 4:
		*(draw(2) ? &m.row_stride : &m.col_stride) = draw(2) ? INT64_MAX : INT64_MIN;
		break;
	}
	return m;
}

/* options are fragments of what there is, now and then with other bytes. */
static const char *options(void) {
	static const char *const parts[] = {
		"\"kernels\": [\"gaussian:all:1\", \"linear:all\"]", "\"kernels\": [\"rff:gaussian:all:1:9\"]",
		"\"kernels\": [\"poly:2:all\"]", "\"norm\": \"lp:1.5\"", "\"norm\": \"block1\"", "\"tau\": 2", "\"tol\": 1e-3",
		"\"max_outer\": 3", "\"seed\": 7", "\"learn\": \"eta\"", "\"solver\": \"closed\"", "\"model\": \"sum\"",
		"\"standardize\": \"none\"", "\"precision\": \"float32\"", "\"interval_folds\": 2", "\"max_bytes\": 9000",
		"\"level\": 0.8", "\"method\": \"cv+\"", "\"lag\": 1", "\"names\": [\"a\", \"b\"]", "\"backend\": \"gonum\"",
		"\"cv\": {\"folds\": 2, \"repeats\": 1, \"lambdas\": [0.1]}", "\"budget\": \"1s\"", "\"certify\": \"global\"",
	};
	static char text[1024];
	if (draw(16) == 0)
		return NULL;
	strcpy(text, draw(3) ? "{\"lambda\": 0.01" : "{\"lambda\": 1e9");
	for (uint64_t n = draw(4); n > 0; n--)
		strcat(strcat(text, ", "), parts[draw(sizeof parts / sizeof *parts)]);
	strcat(text, "}");
	for (uint64_t n = draw(4) ? 0 : 1 + draw(3); n > 0; n--)
		text[draw(strlen(text))] = (char)(1 + draw(255));
	return text;
}

/* text asks f for text with too little room, or enough. */
#define TEXT(call)                                                             \
	do {                                                                   \
		size_t need_ = 0, has_ = draw(sizeof buffer - 1);              \
		memset(buffer, 0x5a, sizeof buffer);                           \
		char *at_ = draw(4) ? buffer : NULL;                           \
		size_t capacity_ = at_ || draw(4) == 0 ? has_ : 0;             \
		size_t *needed_ = draw(8) ? &need_ : NULL;                     \
		judged(call(at_, capacity_, needed_));                         \
		for (size_t i_ = has_; i_ < sizeof buffer; i_++)               \
			if (buffer[i_] != 0x5a)                                \
				fail("a write past the buffer");               \
	} while (0)

static char buffer[8192];
static iokl_handle model, last; /* a good model; a handle that was freed */
static unsigned char *file, *changed;
static size_t length;

/* any is a handle of the wrong kind, a freed one, or one that never was. */
static iokl_handle any(iokl_handle right) {
	const iokl_handle others[] = {0, last, model, draw(UINT64_MAX), last + draw(9)};
	return draw(8) ? right : others[draw(5)];
}

static void useModel(iokl_handle m) {
	iokl_matrix a = matrix(L, D), f = matrix(L, N), low = matrix(L, N), high = matrix(L, N);
	iokl_matrix list[2] = {matrix(L, L), matrix(L, L)};
	iokl_model_sizes sizes = {.size = draw(8) ? sizeof sizes : draw(100)};
	iokl_certificate cert = {.size = draw(8) ? sizeof cert : draw(100)};
	m = any(m);
	switch (draw(13)) {
#define JSON(p, n, need) iokl_model_json(m, p, n, need, err)
	case 0: TEXT(JSON); break;
#define ENCODE(p, n, need) iokl_model_encode(m, p, n, need, err)
	case 1: TEXT(ENCODE); break;
	case 2: judged(iokl_model_size(m, draw(9) ? &sizes : NULL, err)); break;
	case 3: judged(iokl_model_certificate(m, draw(9) ? &cert : NULL, err)); break;
	case 4: judged(iokl_model_weights(m, draw(9) ? room : NULL, (int64_t)draw(5), err)); break;
	case 5: judged(iokl_model_output_kernel(m, &f, err)); break;
	case 6: judged(iokl_model_output_kernel_of(m, (int64_t)draw(4) - 1, &f, err)); break;
	case 7: judged(iokl_predict_interval(m, &a, options(), &f, &low, draw(9) ? &high : NULL, err)); break;
	case 8: judged(iokl_predict_deviation(m, &a, &f, err)); break;
	case 9: judged(iokl_predict_sets(m, &a, number(), &f, &low, err)); break;
	case 10: judged(iokl_predict_gram(m, list, (int64_t)draw(4) - 1, &f, err)); break;
	case 11: {
		iokl_handle changed = 0;
		judged(iokl_model_update(m, draw(9) ? &a : NULL, draw(9) ? &f : NULL, options(), draw(9) ? &changed : NULL,
		                         err));
		if (changed)
			iokl_model_free(changed, err);
		break;
	}
	default: judged(iokl_predict(m, draw(9) ? &a : NULL, &f, err));
	}
}

static void decode(void) {
	iokl_handle m = 0;
	size_t n = draw(4) ? length : draw(length + 1);
	memcpy(changed, file, length);
	for (uint64_t k = draw(4); k > 0; k--)
		changed[draw(length)] = (unsigned char)draw(256);
	if (judged(iokl_model_decode(draw(32) ? changed : NULL, n, draw(32) ? &m : NULL, err)) == IOKL_OK) {
		useModel(m);
		judged(iokl_model_free(m, err));
		last = m;
	}
}

static void job(void) {
	iokl_matrix a = draw(2) ? matrix(L, D) : (iokl_matrix){x, L, D, D, 1};
	iokl_matrix b = draw(2) ? matrix(L, N) : (iokl_matrix){y, L, N, N, 1};
	iokl_matrix list[2] = {matrix(L, L), matrix(L, L)}, f = matrix(N, N);
	static const char *const names[] = {"down", "up"};
	int64_t codes[L];
	iokl_handle j = 0, m = 0;
	for (int i = 0; i < L; i++)
		codes[i] = draw(64) ? (int64_t)draw(2) : (int64_t)draw(9) - 4;
	iokl_handle *at = draw(32) ? &j : NULL;
	switch (draw(6)) {
	case 0: judged(iokl_cross_validate(&a, &b, options(), at, err)); break;
	case 1:
		judged(iokl_fit_classes(&a, draw(9) ? codes : NULL, L, (const char *const *)names, 2, options(), at, err));
		break;
	case 2: judged(iokl_fit_gram(list, (int64_t)draw(4) - 1, &b, options(), at, err)); break;
	case 3: judged(iokl_granger(&a, options(), at, err)); break;
	default: judged(iokl_fit(&a, &b, options(), at, err));
	}
	if (j == 0)
		return;
	iokl_progress p = {.size = draw(8) ? sizeof p : draw(100)};
	judged(iokl_job_progress(any(j), draw(9) ? &p : NULL, err));
	if (draw(8) == 0)
		judged(iokl_job_cancel(any(j), err));
	if (draw(8) && judged(iokl_job_wait(j, 1000, err)) == IOKL_OK) {
#define LINE(p, n, need) iokl_job_line(any(j), p, n, need, err)
		TEXT(LINE);
#define RESULT(p, n, need) iokl_job_json(any(j), p, n, need, err)
		TEXT(RESULT);
		judged(iokl_job_graph(any(j), &f, err));
		judged(iokl_job_model(j, draw(32) ? &m : NULL, err));
		if (m) {
			useModel(m);
			judged(iokl_model_free(m, err));
			last = m;
		}
	}
	judged(iokl_job_free(j, err));
	last = j;
}

static int operator(void *context, const iokl_matrix *v, const iokl_matrix *w) {
	for (int64_t i = 0; i < v->rows; i++)
		for (int64_t k = 0; k < v->cols; k++)
			w->data[i * w->row_stride + k] = (double)(i + 1) * v->data[i * v->row_stride + k];
	return draw(200) == 0 ? *(int *)context : 0;
}

static void solve(void) {
	iokl_matrix A = matrix(L, L), B = matrix(N, N), Q = matrix(L, N), X = matrix(L, N), V = matrix(L, 2);
	iokl_solved r = {.size = draw(8) ? sizeof r : draw(100)};
	iokl_solved *at = draw(4) ? &r : NULL;
	double values[L];
	int code = 7;
	switch (draw(4)) {
	case 0: judged(iokl_solve_general(&A, &B, number(), &Q, &X, at, err)); break;
	case 1:
		judged(iokl_solve_operator(draw(16) ? operator : NULL, &code, (int64_t)draw(L + 1), room, room + L,
		                           fabs(number()) * 1e-3, (int64_t)draw(20), at, err));
		break;
	case 2:
		judged(iokl_eigenpairs(operator, &code, L, (int64_t)draw(4), (int32_t)draw(2), 1e-8, values, &V, at, err));
		break;
	default:
		judged(iokl_solve_sylvester(&A, &B, number(), &Q, &X, draw(2) ? NULL : draw(4) ? "eigen" : "none", 1e-6, at,
		                            err));
	}
}

static void refill(void) {
	for (int i = 0; i < ROOM; i++)
		room[i] = number();
	if (draw(2)) { /* symmetric around the start of matrix */
		double *a = room + ROOM / 2;
		for (int i = 0; i < L; i++)
			for (int j = 0; j < L; j++)
				a[i * L + j] = 1.0 / (1 + i + j);
	}
}

static int entries(const char *path) {
	int n = 0;
	DIR *d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* held are the open files, the threads and the resident pages of the process. */
static void held(long h[3]) {
	h[0] = entries("/proc/self/fd"), h[1] = entries("/proc/self/task"), h[2] = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f && fscanf(f, "%*d %ld", &h[2]) != 1)
		h[2] = 0;
	if (f)
		fclose(f);
}

int main(int argc, char **argv) {
	long most = argc > 1 ? atol(argv[1]) : 0, seconds = argc > 2 ? atol(argv[2]) : 0;
	state = argc > 3 ? (uint64_t)atol(argv[3]) : 1;
	iokl_matrix a = {x, L, D, D, 1}, b = {y, L, N, N, 1};
	for (int i = 0; i < L; i++) {
		x[D * i] = sin(5 * i), x[D * i + 1] = cos(3 * i);
		y[N * i] = x[D * i] * x[D * i + 1], y[N * i + 1] = x[D * i];
	}
	iokl_handle j;
	const char *folds = "{\"kernels\": [\"gaussian:all:1\", \"linear:all\"], \"lambda\": 1e-3, \"interval_folds\": 2}";
	judged(iokl_fit(&a, &b, folds, &j, err));
	judged(iokl_job_wait(j, -1, err));
	if (judged(iokl_job_model(j, &model, err)) != IOKL_OK)
		fail("no model");
	judged(iokl_job_free(j, err));
	last = j;
	judged(iokl_model_encode(model, NULL, 0, &length, err));
	file = malloc(length), changed = malloc(length);
	judged(iokl_model_encode(model, file, length, NULL, err));
	double before[L * N], now[L * N];
	iokl_matrix f = {before, L, N, N, 1};
	judged(iokl_predict(model, &a, &f, err));

	time_t start = time(NULL);
	long early[3] = {0}, late[3];
	for (long round = 0; (!most || calls < most) && (!seconds || time(NULL) - start < seconds); round++) {
		if (round % 16 == 0)
			refill();
		switch (draw(16)) {
		case 0: job(); break;
		case 1: case 2: case 3: solve(); break;
		case 4: case 5: case 6: case 7: useModel(model); break;
		default: decode();
		}
		if (!early[2] && (calls >= most / 3 && time(NULL) - start >= seconds / 3))
			held(early);
	}
	held(late);
	f.data = now;
	if (judged(iokl_predict(model, &a, &f, err)) != IOKL_OK || memcmp(before, now, sizeof now))
		fail("the model predicts other values than at the start");
	judged(iokl_model_free(model, err));
	free(file);
	free(changed);
	printf("%ld calls, statuses", calls);
	for (int s = 0; s < STATUSES; s++)
		printf(" %ld", met[s]);
	printf("; %ld files, %ld threads, %.1f MiB, after the first third %ld, %ld, %.1f\n", late[0], late[1],
	       (double)late[2] / 256, early[0], early[1], (double)early[2] / 256);
	if (late[0] > early[0] || late[1] > early[1] + 4 || late[2] > early[2] + early[2] / 4 + 4096)
		fail("the process grows");
	return 0;
}
