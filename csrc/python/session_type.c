/* session_type.c - the heap type Session: parse, release the GIL, call, convert. */
#include "module.h"

#include <stdlib.h>

#include "core/error.h"

typedef struct session_object {
    PyObject_HEAD
    hf_session *session;
    bool busy; /* in a call that has released the GIL */
} session_object;

module_state *state_of(PyObject *self) {
    return PyModule_GetState(PyType_GetModuleByDef(Py_TYPE(self), &core_module));
}

/* The open session, or NULL with an exception. */
static hf_session *session_of(PyObject *self) {
    session_object *object = (session_object *)self;
    if (!object->session)
        PyErr_SetString(PyExc_ValueError, "the session is closed");
    return object->session;
}

/* The open session for one call that releases the GIL; `session_release` ends it. */
hf_session *session_acquire(PyObject *self) {
    session_object *object = (session_object *)self;
    hf_session *session = session_of(self);
    if (session && object->busy) {
        PyErr_SetString(PyExc_ValueError, "the session is busy in another call");
        return NULL;
    }
    object->busy = session != NULL;
    return session;
}

void session_release(PyObject *self) {
    ((session_object *)self)->busy = false;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"device",   "exchange", "comm",      "mpi_library",
                               "deadline", "version",  "libraries", "quiet",
                               "trace",    "folder",   NULL};
    hf_options options = {.device = "", .exchange = "", .mpi_library = ""};
    PyObject *comm = Py_None, *libraries = NULL;
    int quiet = 0;
    Py_ssize_t trace = 0;
    loading load;
    Py_ssize_t length; /* Open MPI's version, as mpi4py gives it, ends with a NUL */
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|ssOs#dsOpns:Session", keywords, &options.device,
            &options.exchange, &comm, &options.mpi_library, &length, &options.deadline,
            &options.version, &libraries, &quiet, &trace, &options.folder))
        return NULL;
    options.trace = trace > 0 ? (size_t)trace : 0;
    options.has_comm = comm != Py_None;
    if (options.has_comm) {
        options.comm = (int)PyLong_AsLong(comm);
        if (PyErr_Occurred())
            return NULL;
    }
    if (loading_begin(&load, libraries, quiet) < 0)
        return NULL;
    PyObject *self = PyType_GenericAlloc(type, 0);
    if (!self) {
        loading_end(&load);
        return NULL;
    }
    options.vendors = load.vendors;
    loading_release(&load);
    hf_status status = hf_session_open(&((session_object *)self)->session, &options);
    loading_acquire(&load);
    loading_end(&load);
    if (status == HF_OK)
        return self;
    PyObject *none = status_raise(state_of(self), status);
    Py_DECREF(self);
    return none;
}

/* It waits for the other ranks. */
static void session_end(session_object *object) {
    hf_session *session = object->session;
    object->session = NULL;
    Py_BEGIN_ALLOW_THREADS
    hf_session_close(session);
    Py_END_ALLOW_THREADS
}

static void session_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    session_end((session_object *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *session_close(PyObject *self, PyObject *unused) {
    (void)unused;
    session_object *object = (session_object *)self;
    if (object->busy) {
        PyErr_SetString(PyExc_ValueError, "the session is busy in another call");
        return NULL;
    }
    session_end(object);
    Py_RETURN_NONE;
}

/* An exception's text as this thread's message, and its status. */
hf_status exception_status(const module_state *state, PyObject *error) {
    PyObject *text = PyObject_Str(error);
    const char *line = text ? PyUnicode_AsUTF8(text) : NULL;
    hf_status status = hf_fail(status_of(state, error), "%s",
                               line && *line ? line : Py_TYPE(error)->tp_name);
    PyErr_Clear();
    Py_XDECREF(text);
    return status;
}

/* ---- the small ones ---- */

static PyObject *session_kernel(PyObject *self, PyObject *args) {
    const char *bench, *shape = "auto";
    if (!PyArg_ParseTuple(args, "s|s:kernel", &bench, &shape))
        return NULL;
    hf_session *session = session_of(self);
    if (!session)
        return NULL;
    char stem[64];
    hf_status status = hf_session_kernel(session, bench, shape, stem, sizeof stem);
    if (status != HF_OK)
        return status_raise(state_of(self), status);
    return *stem ? PyUnicode_FromString(stem) : Py_NewRef(Py_None);
}

static PyObject *session_build(PyObject *self, PyObject *args) {
    const char *source, *options;
    int quiet = 0;
    loading load;
    if (!PyArg_ParseTuple(args, "ss|p:build", &source, &options, &quiet))
        return NULL;
    hf_session *session = session_acquire(self);
    if (!session)
        return NULL;
    if (loading_begin(&load, NULL, quiet) < 0) {
        session_release(self);
        return NULL;
    }
    unsigned char *binary;
    size_t bytes;
    hf_status status;
    loading_release(&load);
    if (quiet)
        load.vendors.loading(load.vendors.context, true);
    status = hf_session_build(session, source, options, &binary, &bytes);
    if (quiet)
        load.vendors.loading(load.vendors.context, false);
    loading_acquire(&load);
    loading_end(&load);
    session_release(self);
    if (status != HF_OK)
        return status_raise(state_of(self), status);
    PyObject *answer =
        PyBytes_FromStringAndSize((const char *)binary, (Py_ssize_t)bytes);
    free(binary);
    return answer;
}

static PyObject *session_relay(PyObject *self, PyObject *args) {
    Py_buffer binary;
    if (!PyArg_ParseTuple(args, "y*:relay", &binary))
        return NULL;
    hf_session *session = session_acquire(self);
    hf_status status = HF_OK;
    if (session) {
        Py_BEGIN_ALLOW_THREADS
        status = hf_session_relay(session, binary.buf, (size_t)binary.len);
        Py_END_ALLOW_THREADS
        session_release(self);
    }
    PyBuffer_Release(&binary);
    if (!session)
        return NULL;
    if (status != HF_OK)
        return status_raise(state_of(self), status);
    Py_RETURN_NONE;
}

static PyObject *session_same(PyObject *self, PyObject *args) {
    const char *what, *value;
    if (!PyArg_ParseTuple(args, "ss:same", &what, &value))
        return NULL;
    hf_session *session = session_acquire(self);
    if (!session)
        return NULL;
    hf_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hf_session_same(session, what, value);
    Py_END_ALLOW_THREADS
    session_release(self);
    if (status != HF_OK)
        return status_raise(state_of(self), status);
    Py_RETURN_NONE;
}

static PyObject *session_agree(PyObject *self, PyObject *error) {
    hf_session *session = session_acquire(self);
    if (!session)
        return NULL;
    module_state *state = state_of(self);
    hf_status status = error == Py_None ? HF_OK : exception_status(state, error);
    Py_BEGIN_ALLOW_THREADS
    status = hf_session_agree(session, status);
    Py_END_ALLOW_THREADS
    session_release(self);
    if (status != HF_OK)
        return status_raise(state, status);
    Py_RETURN_NONE;
}

static PyObject *session_exchange(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *schemes = NULL, *sizes = NULL, *times = NULL;
    expectation held = {0};
    if (!PyArg_ParseTuple(args, "s|OOO:take_exchange", &name, &schemes, &sizes,
                          &times) ||
        (schemes && expectation_take(&held, schemes, sizes, times) < 0))
        return NULL;
    hf_session *session = session_acquire(self);
    hf_status status = HF_OK;
    if (session) {
        Py_BEGIN_ALLOW_THREADS
        status = hf_session_exchange(session, name, schemes ? &held.expected : NULL);
        Py_END_ALLOW_THREADS
        session_release(self);
    }
    expectation_free(&held);
    if (!session)
        return NULL;
    if (status != HF_OK)
        return status_raise(state_of(self), status);
    Py_RETURN_NONE;
}

static PyObject *fact_get(PyObject *self, void *which) {
    hf_session *session = session_of(self);
    if (!session)
        return NULL;
    hf_facts facts = hf_session_facts(session);
    switch ((char)(intptr_t)which) {
    case 'r':
        return PyLong_FromLong(facts.rank);
    case 's':
        return PyLong_FromLong(facts.size);
    case 'x':
        return PyUnicode_FromString(facts.exchange);
    case 'p':
        return PyUnicode_FromString(facts.prelude);
    case 'k':
        return PyBool_FromLong(facts.kernel_routed);
    case 'e':
        return PyBool_FromLong(facts.emulated);
    case 'd':
        return device_dict(facts.device);
    case 'l':
        return PyBool_FromLong(hf_session_wants_relay(session));
    default:
        break;
    }
    PyObject *list = PyList_New(0);
    for (int rank = 0; list && rank < facts.size; rank++) {
        const hf_place *place = &facts.places[rank];
        list_put(&list,
                 text_of((char)(intptr_t)which == 'h' ? place->host : place->device));
    }
    return list;
}

#define FACT(name, which, doc) \
    { name, fact_get, NULL, doc, (void *)(intptr_t)(which) }
static PyGetSetDef session_facts[] = {
    FACT("rank", 'r', "This rank, 0 .. size - 1."),
    FACT("size", 's', "Number of ranks."),
    FACT("exchange", 'x', "Name of the exchange scheme."),
    FACT("prelude", 'p', "Text to put in front of kernels that are built here."),
    FACT("kernel_routed", 'k', "Whether kernels send and receive themselves."),
    FACT("emulated", 'e', "Whether a CPU stands in for the accelerator."),
    FACT("device", 'd', "The device as a dict."),
    FACT("wants_relay", 'l', "Whether relay_ndrange.cl is of use here, and not taken."),
    FACT("hosts", 'h', "Host name of each rank."),
    FACT("devices", 'v', "Runtime, index and name of each rank's device."),
    {0},
};

static PyMethodDef session_methods[] = {
    {"run", (PyCFunction)(void (*)(void))session_run, METH_VARARGS | METH_KEYWORDS,
     "run($self, /, benchmark, params, kernel, progress, begin=None, turns=None)\n"
     "--\n\n"
     "Run a benchmark; columns, summary, parameters, verified and notes as a dict.\n"
     "begin is called once, before the first sample: what is set up before may fail.\n"
     "turns: take the next one; None unless it is the last one."},
    {"kernel", session_kernel, METH_VARARGS,
     "kernel($self, benchmark, shape='auto', /)\n--\n\n"
     "Stem of the kernel file that a benchmark needs here, or None."},
    {"build", session_build, METH_VARARGS,
     "build($self, source, options, quiet=False, /)\n--\n\n"
     "Compile OpenCL C for the device; the program binary as bytes. quiet: what the\n"
     "compiler prints is dropped, unless it ends the process."},
    {"relay", session_relay, METH_VARARGS,
     "relay($self, binary, /)\n--\n\n"
     "Take the program binary of relay_ndrange.cl, if the device can use it."},
    {"agree", session_agree, METH_O,
     "agree($self, error, /)\n--\n\n"
     "Raise on every rank if any rank passes an exception. Collective."},
    {"same", session_same, METH_VARARGS,
     "same($self, what, value, /)\n--\n\n"
     "Raise on every rank if a value, as text, is not the same on all. Collective."},
    {"take_exchange", session_exchange, METH_VARARGS,
     "take_exchange($self, name, schemes=..., sizes=..., times=..., /)\n--\n\n"
     "Go on over another exchange scheme; AUTO takes what is expected of schemes: "
     "their "
     "names, lengths of messages [B], and times [schemes, sizes] [s]. Collective."},
    {"close", session_close, METH_NOARGS,
     "close($self, /)\n--\n\nRelease the device and the communicator. Collective."},
    {0},
};

static PyType_Slot session_slots[] = {
    {Py_tp_new, session_new},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, session_methods},
    {Py_tp_getset, session_facts},
    {Py_tp_doc,
     "Session(device='', exchange='', comm=None, mpi_library='', deadline=0, "
     "version='', libraries=(), quiet=False, trace=0, folder='')\n--\n\n"
     "A device, an exchange scheme and a communicator, held open."},
    {0, NULL},
};

static PyType_Spec session_spec = {
    .name = "hpccfpga._core.Session",
    .basicsize = sizeof(session_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = session_slots,
};

int session_type_add(PyObject *module, module_state *state) {
    state->session_type = PyType_FromModuleAndSpec(module, &session_spec, NULL);
    return state->session_type
               ? PyModule_AddObjectRef(module, "Session", state->session_type)
               : -1;
}
