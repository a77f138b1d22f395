/* session_run.c - Session.run: what happens meanwhile in Python, and the result. */
#include "core/error.h"

#include "module.h"

typedef struct watch {
    PyObject *begin;    /* callable before the first sample; NULL: none, or called */
    PyObject *progress; /* callable or None */
    PyObject *raised;   /* what it, or a signal handler, raised */
    const module_state *state;
    PyThreadState *thread; /* while the GIL is released */
} watch;

/* The pending exception, which is cleared; new reference. */
static PyObject *exception_take(void) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        PyException_SetTraceback(value, trace);
    Py_XDECREF(trace);
    Py_DECREF(type);
    return value;
}

static PyObject *row_value(const hf_quantity *quantity, double value) {
    if (quantity->dtype != HF_NAME)
        return PyFloat_FromDouble(value);
    const char *text;
    size_t length = hf_quantity_choice(quantity, (size_t)value, &text);
    return PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
}

static PyObject *row_dict(const hf_progress *row) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < row->n_values; i++) {
        const hf_quantity *quantity = &row->quantities[i];
        if (dict_put(dict, quantity->name, row_value(quantity, row->values[i])) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static int begin_call(watch *w) {
    PyObject *begin = w->begin, *answer = begin ? PyObject_CallNoArgs(begin) : NULL;
    w->begin = NULL;
    Py_XDECREF(answer);
    return begin && !answer ? -1 : 0;
}

static int progress_call(PyObject *progress, const hf_progress *row) {
    if (!row || progress == Py_None)
        return 0;
    PyObject *dict = row_dict(row);
    PyObject *answer =
        dict ? PyObject_CallFunction(progress, "nnO", (Py_ssize_t)row->point,
                                     (Py_ssize_t)row->n_points, dict)
             : NULL;
    Py_XDECREF(dict);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

/* Between samples and after points: signals first, then the user's callable. Once Python has
 * ended, PyEval_RestoreThread ends this thread, where PyGILState_Ensure crashes. */
static hf_status run_tick(void *context, const hf_progress *row) {
    watch *w = context;
    hf_status status = HF_OK;
    PyEval_RestoreThread(w->thread);
    if (PyErr_CheckSignals() < 0 || begin_call(w) < 0 ||
        progress_call(w->progress, row) < 0) {
        w->raised = exception_take();
        status = exception_status(w->state, w->raised);
    }
    w->thread = PyEval_SaveThread();
    return status;
}

PyObject *session_run(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"benchmark", "params", "kernel", "progress",
                               "begin",     "turns",  NULL};
    watch w = {.begin = Py_None, .state = state_of(self)};
    hf_run run = {.tick = run_tick, .context = &w};
    PyObject *params, *kernel, *turns = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO!OO|OO:run", keywords, &run.bench,
                                     &PyDict_Type, &params, &kernel, &w.progress,
                                     &w.begin, &turns) ||
        turns_of(&run.turns, turns) < 0)
        return NULL;
    Py_ssize_t bytes = 0;
    if (kernel != Py_None &&
        !PyArg_ParseTuple(kernel, "sy#s", &run.kernel, (const char **)&run.binary,
                          &bytes, &run.kernel_hash))
        return NULL;
    run.binary_bytes = (size_t)bytes;
    hf_session *session = session_acquire(self);
    if (!session)
        return NULL;
    w.begin = w.begin == Py_None ? NULL : w.begin;
    hf_args *values = NULL;
    hf_result *result = NULL;
    /* One rank's bad parameter is every rank's error. */
    hf_status status = args_fill(&values, run.bench, params);
    run.args = values;
    w.thread = PyEval_SaveThread();
    status = hf_session_agree(session, status);
    if (status == HF_OK)
        status = hf_session_run(session, &result, &run);
    PyEval_RestoreThread(w.thread);
    session_release(self);
    PyObject *answer = NULL;
    if (w.raised) {
        PyErr_SetObject((PyObject *)Py_TYPE(w.raised), w.raised);
        Py_DECREF(w.raised);
        hf_result_free(result);
    } else if (status != HF_OK) {
        status_raise(w.state, status);
    } else {
        answer = result ? result_dict(result, values) : Py_NewRef(Py_None);
    }
    hf_args_free(values);
    return answer;
}
