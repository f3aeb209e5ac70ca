"""The table that an entry is handed, in words of 8 bytes.

First come the words below, then one address for each argument of the function. After these follow,
as the walk of the function finds them, addresses of constants and error records of kernels.
"""

# The error record, the number of threads, whether the call is to end, when signals were last looked
# for, and an exception that was raised.
TABLE_ERROR, TABLE_THREADS, TABLE_STOP, TABLE_POLLED, TABLE_RAISED = 0, 3, 4, 5, 6
TABLE_ARGUMENTS = 7

# In the error record: no message of the program, but the exception in the table.
RAISED = -1
